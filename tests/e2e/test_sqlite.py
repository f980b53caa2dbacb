"""
A database that several connections of several cells use: whatever is committed
is there, in each journal mode, with and without memory mapping, and of a rolled-back
cell nothing. A second database, in this process, has the same done to it.
"""

import os
import random
import sqlite3

import pytest

from conftest import shared_kernel as kernel  # noqa: F401

CELLS = int(os.environ.get("PETRI_DATABASE_CELLS", "40"))
SEED = int(os.environ.get("PETRI_SEED", "1"))

MODES = {f"{journal}, {'mapped' if mapped else 'not mapped'}": (journal, mapped) for journal in ("delete", "wal") for mapped in (0, 1 << 20)}

BEGIN = """
import os, sqlite3
for end in ("", "-wal", "-shm", "-journal"):
    if os.path.exists(path + end): os.remove(path + end)
def connect():
    c = sqlite3.connect(path, timeout=0.5, isolation_level=None)
    c.execute("pragma journal_mode = {journal}"); c.execute("pragma mmap_size = {mapped}")
    return c
connections = [connect() for _ in range(3)]
connections[0].execute("create table t (k integer primary key, v text)")
"""


def statement(chance):
    """One of what is done to the table: SQL that changes a few rows."""
    key, text = chance.randrange(200), "x" * chance.randrange(3000)
    return chance.choice(
        [
            f"insert or replace into t values ({key}, '{text}')",
            f"delete from t where k % 7 = {key % 7}",
            f"update t set v = v || '{text[:50]}' where k > {key}",
            "begin; " + "; ".join(f"insert or replace into t values ({key + i}, '{i}')" for i in range(20)) + "; commit",
            f"begin; delete from t where k < {key}; rollback",
        ]
    )


def step(chance):
    """A cell's code, and what it does to the table."""
    what, which = statement(chance), chance.randrange(3)
    code = f'connections[{which}].executescript("{what}")'
    extra = chance.random()
    if extra < 0.15:
        code = f"connections[{which}].close(); connections[{which}] = connect()\n{code}"
    elif extra < 0.3:
        code = f"another = connect(); another.execute('select count(*) from t').fetchall()\n{code}\nanother.close()"
    return code, what


@pytest.mark.in_turn("place")
@pytest.mark.parametrize("place", ["/tmp", "."])
@pytest.mark.parametrize(("journal", "mapped"), MODES.values(), ids=MODES)
def test_database_has_what_was_committed(kernel, place, journal, mapped):
    chance = random.Random(f"{SEED} {journal} {mapped} {place}")
    twin = sqlite3.connect(":memory:", isolation_level=None)
    twin.execute("create table t (k integer primary key, v text)")
    kernel.good(f"path = '{place}/test.db'\n" + BEGIN.format(journal=journal, mapped=mapped))
    for _ in range(CELLS):
        code, what = step(chance)
        if chance.random() < 0.2:
            lost = kernel.run(f"{code}\nimport os; os._exit(1)")
            assert lost.ename == "CellCrashed", lost
            continue
        kernel.good(code)
        twin.executescript(what)
        which = chance.randrange(3)
        assert kernel.value(f"connections[{which}].execute('select count(*), sum(length(v)) from t').fetchone()") == str(
            twin.execute("select count(*), sum(length(v)) from t").fetchone()
        )
    look = "[c.execute('select * from t order by k').fetchall() == rows for c in (*connections, connect())]"
    rows = twin.execute("select * from t order by k").fetchall()
    assert kernel.value(f"rows = {rows!r}\n{look}") == "[True, True, True, True]"
    assert kernel.value("connect().execute('pragma integrity_check').fetchall()") == "[('ok',)]"
