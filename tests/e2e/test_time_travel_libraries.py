"""What libraries have in memory, in threads and in files, across undo, redo, restore and branches: as in travels.py."""

import pytest

from conftest import shared_kernel  # noqa: F401
from travels import WAYS, Row

pytestmark = pytest.mark.xdist_group("time-travel-libraries")  # one process: the kernel is there once

BEGIN = """
import os, pathlib
import numpy as np, pandas as pd, polars as pl, duckdb, matplotlib.pyplot as plt
os.mkdir('rows'); os.chdir('rows')
p = pathlib.Path.cwd() / 'f'
"""

LIBRARIES = {
    "array that is changed in place": Row(
        "a = np.arange(100000.); v = a[::2]", "v += 1; a[-1] = 0", "float(a.sum()), float(v.sum())",
        "(4999950000.0, 2499950000.0)", "(4999900001.0, 2500000000.0)",
    ),
    "array that is large": Row(
        "a = np.zeros(8 << 20)", "a[::512] = 1", "float(a.sum()), a.flags.writeable", "(0.0, True)", "(16384.0, True)"
    ),
    "mapped array": Row(
        "a = np.memmap(p, 'f8', 'w+', shape=1000); a[:] = 1; a.flush()", "a[10:20] = 5; b = np.memmap(p, 'f8', 'r+')",
        "float(a.sum()), float(np.fromfile(p).sum()), 'b' in globals()", "(1000.0, 1000.0, False)", "(1040.0, 1040.0, True)",
    ),
    "mapped array that is closed and removed": Row(
        "a = np.memmap(p, 'f8', 'w+', shape=1000); a[:] = 1", "a[:] = 2; s = float(a.sum()); a = np.zeros(1); p.unlink()",
        "float(a.sum()), p.exists()", "(1000.0, True)", "(0.0, False)",
    ),
    "product of matrices": Row(
        "a = np.arange(256 * 256.).reshape(256, 256) / 1000; b = a @ a", "a *= 2; b = a @ a",
        "bool(np.allclose(a @ a, b)), float(b[0, 1]) > 5000", "(True, False)", "(True, True)",
    ),
    "threads of a BLAS": Row(
        "a = np.ones((64, 64))", "a = np.ones((1200, 1200)); b = a @ a", "float((a @ a).sum())",
        "262144.0", "1728000000.0",
    ),
    "random numbers": Row(
        "np.random.seed(1); r = np.random.default_rng(1); e = [r.integers(1 << 40) for _ in range(3)]\n"
        "r = np.random.default_rng(1); f = np.random.rand(3); np.random.seed(1)",
        "r.integers(1 << 40); np.random.rand()",
        "e.index(r.integers(1 << 40)), f.tolist().index(np.random.rand())",
        "(0, 0)",
        "(1, 1)",
    ),
    "frame of pandas": Row(
        "d = pd.DataFrame({'x': [1, 2, 3], 'y': ['a', 'b', 'c']}); g = d.groupby('y')", "d.loc[1, 'x'] = 9; d['z'] = d.x * 2",
        "int(d.x.sum()), list(d.columns), g.x.sum().to_dict()",
        "(6, ['x', 'y'], {'a': 1, 'b': 2, 'c': 3})",
        "(13, ['x', 'y', 'z'], {'a': 1, 'b': 9, 'c': 3})",
    ),
    "frame of polars and its threads": Row(
        "d = pl.DataFrame({'k': [n % 7 for n in range(70000)], 'v': range(70000)})", "d = d.filter(pl.col('k') < 3)",
        "d.lazy().group_by('k').agg(pl.col('v').sum()).collect()['v'].sum(), d.height",
        "(2449965000, 70000)",
        "(1049925000, 30000)",
    ),
    "file that polars has mapped": Row(
        "pl.DataFrame({'x': range(10000)}).write_ipc(p); d = pl.scan_ipc(p)", "pl.DataFrame({'x': [1]}).write_ipc('g'); os.replace('g', p)",
        "pl.read_ipc(p)['x'].sum()", "49995000", "1",
    ),
    "database of duckdb in memory": Row(
        "c = duckdb.connect(); _ = c.execute('create table t as select range n from range(100000)')",
        "_ = c.execute('delete from t where n % 2 = 0')",
        "int(c.execute('select sum(n) from t').fetchone()[0])",
        "4999950000",
        "2500000000",
    ),
    "database of duckdb with an open transaction": Row(
        "c = duckdb.connect(str(p)); _ = c.execute('create table t as select range n from range(1000)'); _ = c.begin()\n"
        "_ = c.execute('delete from t where n < 500')",
        "_ = c.commit(); _ = c.execute('checkpoint'); _ = c.begin(); _ = c.execute('delete from t where n < 900')",
        "c.execute('select count(*) from t').fetchone(), c.rollback() and c.execute('select count(*) from t').fetchone()",
        "((500,), (1000,))",
        "((100,), (500,))",
    ),
    "figures of matplotlib": Row(
        "f, a = plt.subplots(); _ = a.plot([1, 2]); plt.close(f)",
        "_ = a.plot([2, 1]); _ = a.set_title('late'); plt.rcParams['lines.linewidth'] = 9",
        "len(a.lines), a.get_title(), plt.rcParams['lines.linewidth'], f.savefig('x.png'), os.path.getsize('x.png') > 999",
        "(1, '', 1.5, None, True)",
        "(2, 'late', 9.0, None, True)",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernel(shared_kernel):
    shared_kernel.good(BEGIN)
    shared_kernel.good("%checkpoint rows")
    return shared_kernel


@pytest.mark.in_turn("way")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", LIBRARIES)
def test_object_of_a_library_is_as_it_was_in_each_state_that_one_goes_to(kernel, row, way):
    WAYS[way](kernel, LIBRARIES[row], "rows")
