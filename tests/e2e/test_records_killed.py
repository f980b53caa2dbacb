"""kill -9 of the kernel at any moment: every run whose reply was received is recorded, whole and once.

The storage alone is killed some hundreds of times by test_records_killed.c; here
it is whole kernels, fewer of them, as each has an interpreter to start.
"""

import json
import os
import queue
import random
import select
import signal
import sqlite3
import time

import pytest
import zmq

import processes
from kernels import STUCK_S

KILLS = 4
AT_LENGTH = int(os.environ.get("PETRI_KILLS", 40))
SEED = int(os.environ.get("PETRI_SEED", random.SystemRandom().randrange(1 << 32)))
RUNS = 60  # sent at once: more than are answered before the kernel dies


def run_asking(number):
    """Code, and what is asked for: an input of its own, so that a record has rows in several tables."""
    return f"print('run {number}')", {"task": "T", "files": [{"path": "in.txt", "text": f"input {number}"}]}


def kill(kernel, dice):
    """Kills the process that Jupyter knows or the kernel proper, and waits until all of it is gone."""
    family = processes.family(kernel.pid)
    pidfds = processes.open_family(kernel.pid)
    os.kill(dice.choice(family[:2]), signal.SIGKILL)
    for pidfd in pidfds:
        select.select([pidfd], [], [])
        os.close(pidfd)


def received(kernel, monitor):
    """Reports of the replies that had left the kernel when it died: all are there once its connection has ended."""
    assert monitor.poll(STUCK_S * 1000), "the connection has not ended"
    reports = []
    while True:
        try:
            message = kernel.client.get_shell_msg(timeout=0)
        except queue.Empty:
            return reports
        if message["msg_type"] == "execute_reply" and "petri" in message["metadata"]:
            reports.append(message["metadata"]["petri"])


def check(database, answered):
    """Nothing is damaged or half, and what was answered is there."""
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        rows = connection.execute("SELECT n, run_id, body FROM runs").fetchall()
        inputs = dict(connection.execute("SELECT run, sha256 FROM inputs").fetchall())
        blobs = {sha256 for (sha256,) in connection.execute("SELECT sha256 FROM blobs")}
        counted = connection.execute("SELECT runs FROM tasks WHERE task = 'T'").fetchall()
    for n, run_id, text in rows:
        body = json.loads(text)
        assert body["report"]["run_id"] == run_id
        assert inputs[n] == body["files"][0]["sha256"] and inputs[n] in blobs
    assert counted == ([(len(rows),)] if rows else [])
    stored = [run_id for _, run_id, _ in rows]
    assert len(set(stored)) == len(stored)
    assert not answered - set(stored)


@pytest.mark.parametrize("kills", [KILLS, pytest.param(AT_LENGTH, marks=pytest.mark.thorough)])
def test_kernel_killed_at_any_moment_loses_no_run_that_it_has_answered(start, tmp_path, monkeypatch, kills):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    database = tmp_path / "data" / "petri" / "records.sqlite"
    dice = random.Random(SEED)
    print(f"PETRI_SEED={SEED} repeats this")
    answered = set()
    for round_ in range(kills):
        kernel = start()
        # Every other kernel is warm when it dies: the rest may die before they have answered anything.
        if round_ % 2 == 0:
            answered.add(kernel.ask(*run_asking(RUNS)).report["run_id"])
        for number in range(RUNS):
            kernel.send_asking(*run_asking(number))
        time.sleep(dice.uniform(0, 0.5))  # any moment will do: it is no wait for an event
        monitor = kernel.client.shell_channel.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        kill(kernel, dice)
        reports = received(kernel, monitor)
        assert all(report["record"] for report in reports)
        answered |= {report["run_id"] for report in reports}
        kernel.close()
        check(database, answered)
    assert answered, "no run was ever answered: the test says nothing"
