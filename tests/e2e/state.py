"""Live state of a session, piece by piece: made in one cell, used in later ones.

A piece's use is run once for each cell that follows; expect(n) is what the
n-th use (from 0) gives, as the text of a cell's value.
"""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Piece:
    name: str
    make: str
    use: str
    expect: Callable
    needs: tuple = ()


def always_true(_):
    return "True"


PIECES = [
    Piece(
        "generator",
        "def count_squares():\n"
        "    number = 0\n"
        "    while True:\n"
        "        yield number * number\n"
        "        number += 1\n"
        "squares = count_squares()\n"
        "assert [next(squares), next(squares)] == [0, 1]\n",
        "next(squares)",
        lambda n: str((n + 2) ** 2),
    ),
    Piece(
        "open file",
        "letters = open('/tmp/letters', 'w+')\n"
        "letters.write('abcdefghijklmnopqrstuvwxyz')\n"
        "letters.flush()\n"
        "letters.seek(0)\n",
        "letters.read(1)",
        lambda n: repr("abcdefghijklmnopqrstuvwxyz"[n]),
    ),
    Piece(
        "files deeper than a path can say",
        "import os\n"
        "def files_down_there(make=False):\n"
        "    before = os.getcwd()\n"
        "    os.chdir('/tmp')\n"
        "    for _ in range(2500):\n"
        "        if make:\n"
        "            os.mkdir('d')\n"
        "        os.chdir('d')\n"
        "    open(str(len(os.listdir('.'))), 'w').close()\n"
        "    names = os.listdir('.')\n"
        "    os.chdir(before)\n"
        "    return len(names)\n"
        "assert files_down_there(make=True) == 1\n",
        "files_down_there()",
        lambda n: str(n + 2),
    ),
    Piece(
        "lock",
        "import threading\nlock = threading.Lock()\nlock.acquire()\n",
        "lock.locked() and not lock.acquire(blocking=False)",
        always_true,
    ),
    Piece(
        "lock that knows its owner",
        "import threading\nrlock = threading.RLock()\nrlock.acquire()\n",
        "rlock.acquire(blocking=False)",
        always_true,
    ),
    Piece(
        "thread pool",
        "import threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(2)\n"
        "pool_threads = set(pool.map(lambda barrier: barrier.wait() * 0 + threading.get_ident(),"
        " [threading.Barrier(2)] * 2))\n"
        "assert len(pool_threads) == 2\n",
        "pool.submit(threading.get_ident).result() in pool_threads",
        always_true,
    ),
    Piece(
        "thread that waits on a queue",
        "import queue, threading\n"
        "asked, answered = queue.Queue(), queue.Queue()\n"
        "def double():\n"
        "    while True:\n"
        "        answered.put(asked.get() * 2)\n"
        "threading.Thread(target=double, daemon=True).start()\n",
        "asked.put(21) or answered.get()",
        lambda n: "42",
    ),
    Piece(
        "database in memory",
        "import sqlite3\n"
        "database = sqlite3.connect(':memory:')\n"
        "_ = database.execute('create table uses (id integer primary key)')\n",
        "database.execute('insert into uses default values').lastrowid",
        lambda n: str(n + 1),
        needs=("sqlite3",),
    ),
    Piece(
        "numpy and its BLAS threads",
        "import numpy\n"
        "matrix = numpy.arange(512 * 512, dtype=float).reshape(512, 512) / 1000\n"
        "product = matrix @ matrix\n",
        "bool(numpy.allclose(matrix @ matrix, product))",
        always_true,
        needs=("numpy",),
    ),
    Piece(
        "scikit-learn and its OpenMP threads",
        "import numpy\n"
        "from sklearn.cluster import KMeans\n"
        "points = numpy.random.default_rng(0).normal(size=(5000, 8))\n"
        "def inertia():\n"
        "    return KMeans(4, n_init=2, random_state=0).fit(points).inertia_\n"
        "first_inertia = inertia()\n",
        "bool(numpy.isclose(inertia(), first_inertia))",
        always_true,
        needs=("sklearn",),
    ),
    Piece(
        "polars and its threads",
        "import polars\n"
        "frame = polars.DataFrame({'key': [n % 7 for n in range(70_000)], 'value': range(70_000)})\n",
        "frame.lazy().group_by('key').agg(polars.col('value').sum()).collect()['value'].sum()",
        lambda n: str(70_000 * 69_999 // 2),
        needs=("polars",),
    ),
    Piece(
        "duckdb and its threads",
        "import duckdb\n"
        "duck = duckdb.connect()\n"
        "_ = duck.execute('create table numbers as select range as number from range(300000)')\n",
        "int(duck.execute('select sum(number) from numbers').fetchone()[0])",
        lambda n: str(300_000 * 299_999 // 2),
        needs=("duckdb",),
    ),
]


def pieces_for(interpreter):
    """The pieces that an interpreter has the packages for; the tests' own environment has all."""
    found = [piece for piece in PIECES if all(interpreter.has(module) for module in piece.needs)]
    assert interpreter.label != "venv" or found == PIECES, "the tests' environment lacks a package"
    return found


def make(kernel, pieces):
    """Makes all pieces in one cell."""
    cell = kernel.run("".join(piece.make for piece in pieces))
    assert cell.ok, str(cell)


def check(kernel, pieces, n):
    """Uses all pieces, in one cell, for the n-th time."""
    uses = ", ".join(f"{piece.name!r}: {piece.use}" for piece in pieces)
    cell = kernel.run(f"for name, value in {{{uses}}}.items(): print(name, repr(value), sep=': ')")
    assert cell.ok, str(cell)
    expected = [f"{piece.name}: {piece.expect(n)}" for piece in pieces]
    assert cell.stdout.splitlines() == expected
