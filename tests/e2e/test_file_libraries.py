"""
Files that libraries keep open from cell to cell: HDF5, LMDB, DuckDB and others, beside ipykernel. The cells are as in
beside.py: one opens, a later one writes, one is lost after it has written or removed, and what the next ones read,
through what was kept and from a file that is opened anew, is as if it had never been.
"""

import importlib.util
import re

import pytest

from beside import run_all
from conftest import shared_kernel as kernel  # noqa: F401

pytestmark = pytest.mark.xdist_group("file-libraries")  # one process: both kernels are there once

BEGIN = """import os, pathlib, shutil, subprocess, sys, tempfile
import numpy as np
base = pathlib.Path({base!r}) if {base!r} else pathlib.Path(tempfile.mkdtemp(dir='.')).resolve()
shutil.rmtree(base, ignore_errors=True); base.mkdir(exist_ok=True)
p = base / 'f'
def another(code):
    '''What a process of its own prints that finds the file by its path.'''
    code = 'import sys; p = sys.argv[1]; ' + code
    return subprocess.run([sys.executable, '-c', code, p], check=True, capture_output=True, text=True).stdout
"""

H5 = "import h5py; f = h5py.File(p, 'w'); d = f.create_dataset('x', data=np.arange(1000.)); f.flush()"
DUCKDB = """
import duckdb; c = duckdb.connect(p)
c.execute('create table t as select range n, range::text s from range(10000)')
"""
NETCDF = """
import netCDF4; n = netCDF4.Dataset(p, 'w', format='{}'); n.createDimension('t', None)
v = n.createVariable('v', 'f8', ('t',)); v[:] = [1, 2, 3]; n.sync()
‖v[3] = 4; n.sync()
✗v[:] = 0; v[4] = 9; n.close(); p.unlink()
‖v[4] = 5; n.sync(); v[:].tolist()
‖n.close(); another('import netCDF4; print(netCDF4.Dataset(p)["v"][:].tolist())')
‖m = netCDF4.Dataset(p); m['v'][:].tolist()
‖m.close()
"""
ZARR = """
import zarr; {open}; z = zarr.create_array(store, shape=(1000,), chunks=(100,), dtype='f8')
z[:] = 1
‖z[100:200] = 2
✗z[:] = -1; {remove}
‖z[950:] = 3; float(z[:].sum())
‖{again}; float(zarr.open_array(store)[:].sum())
"""
LMDB = """
import lmdb
def put(**pairs):
    with env.begin(write=True) as t:
        for key, value in pairs.items(): t.put(key.encode(), value)
def every(): return [(key, len(value)) for key, value in env.begin().cursor()]
env = lmdb.open(str(p), map_size=1 << 22{}); put(a=b'1')
‖put(b=b'2' * 10000); r = env.begin(); every()
✗put(a=b'no' * 50000, c=b'no')
with env.begin(write=True) as t: t.delete(b'b')
env.sync(True); env.close(); shutil.rmtree(p)
‖put(d=b'4' * 3); (every(), r.get(b'a'), r.get(b'd'), env.stat()['entries'])
‖r.abort(); env.sync(True)
another('import lmdb; e = lmdb.open(p); print([(k, len(v)) for k, v in e.begin().cursor()], e.reader_check())')
‖put(e=b'5'); env.close(); env = lmdb.open(str(p)); (every(), env.info()['last_txnid'])
‖env.close()
"""
MEMORY = """
import joblib; calls = []; memory = joblib.Memory(p, verbose=0{})
@memory.cache
def f(n):
    calls.append(n)
    return np.arange(n)
kept = f(50000)
‖f(50000).sum(), calls
✗f(7); memory.clear(warn=False); shutil.rmtree(p); kept[:10].sum()
‖f(50000).sum(), kept.sum(), f(7).sum(), calls
‖f(7).sum(), calls, len(list(p.rglob('output.pkl')))
"""
GIT = """
def git(*command):
    who = {f'GIT_{one}_{what}': value for one in ('AUTHOR', 'COMMITTER') for what, value in
           (('NAME', 'n'), ('EMAIL', 'n@n'), ('DATE', '2020-01-01T00:00:00Z'))}
    done = subprocess.run(['git', '-C', p, *command], env={**os.environ, **who}, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr
def write(name, text): (p / name).write_text(text)
p.mkdir(); git('init', '-q', '-b', 'main'), write('a', 'one'), git('add', '-A'), git('commit', '-qm', 'first')
"""

# Packages, and cells.
LIBRARIES = {
    "h5py": ("h5py", H5 + """
‖d[:500] = 7; f['y'] = [1]; f.flush()
✗d[:] = -1; del f['y']; f['z'] = 1; f.close(); p.unlink()
‖d[100] = 3; f['late'] = 2; f.flush(); (float(d[:].sum()), sorted(f))
‖f.close()
g = h5py.File(p); (float(g['x'][:].sum()), sorted(g), p.stat().st_size)
‖g.close()
"""),
    "h5py, not flushed": ("h5py", H5 + """
‖d[:500] = 7
✗d[:] = -1; f.flush()
‖d[501] = 5
‖d[0:3].tolist(), float(d[:].sum())
‖f.close()
another('import h5py; print(float(h5py.File(p)["x"][:].sum()))')
"""),
    "h5py, read by others while it is written": ("h5py", """
import h5py; f = h5py.File(p, 'w', libver='latest')
d = f.create_dataset('x', (10,), 'f8', maxshape=(None,), chunks=(10,)); f.swmr_mode = True
‖d[:] = 1; d.flush()
look = 'import h5py; print(h5py.File(p, swmr=True)["x"][:].sum())'; another(look)
✗d.resize((20,)); d[:] = 9; d.flush()
‖another(look)
‖d.resize((15,)); d[10:] = 2; d.flush(); (another(look), float(d[:].sum()))
‖f.close(); another(look)
"""),
    "h5py, locked by another cell's file": ("h5py", H5 + """
✗f.close()
‖another('import h5py\\ntry: h5py.File(p, "a")\\nexcept OSError: print("locked")')
‖f.close(); another('import h5py; h5py.File(p, "a")')
"""),
    "h5py, through a Python file": ("h5py", """
import h5py; o = open(p, 'w+b'); f = h5py.File(o, 'w'); f['x'] = np.arange(10); f.flush()
‖f['x'][0] = 100
✗f['x'][:] = 0; f.close(); o.close()
‖f['x'][1] = 50; f.close(); o.close()
‖int(h5py.File(p)['x'][:].sum())
"""),
    "netCDF4": ("netCDF4", NETCDF.format("NETCDF4")),
    "netCDF4, classic": ("netCDF4", NETCDF.format("NETCDF3_64BIT_OFFSET")),
    "zarr": ("zarr", ZARR.format(open="store = str(p)", remove="shutil.rmtree(p)", again="1")),
    "zarr, zipped": ("zarr", ZARR.format(
        open="store = zarr.storage.ZipStore(p, mode='w')",
        remove="store.close(); p.unlink()",
        again="store.close(); store = zarr.storage.ZipStore(p, mode='r')",
    )),
    "lmdb": ("lmdb", LMDB.format("")),
    "lmdb, written through its mapping": ("lmdb", LMDB.format(", writemap=True")),
    "lmdb, not waited for to be written": ("lmdb", LMDB.format(", writemap=True, map_async=True, metasync=False")),
    "lmdb, one file": ("lmdb", LMDB.format(", subdir=False")
        .replace("shutil.rmtree(p)", "p.unlink()")
        .replace("str(p))", "str(p), subdir=False)")
        .replace("lmdb.open(p)", "lmdb.open(p, subdir=False)")),
    "lmdb, a writing that is under way": ("lmdb", """
import lmdb; env = lmdb.open(str(p)); t = env.begin(write=True); t.put(b'a', b'1')
✗t.put(b'b', b'2'); t.commit()
‖t.put(b'c', b'3'); t.commit()
‖list(env.begin().cursor())
‖env.close()
"""),
    "diskcache": ("diskcache", """
import diskcache; c = diskcache.Cache(p); c['a'] = 1; c['large'] = b'x' * 100_000
‖c['b'] = np.arange(5); c.incr('a')
✗c['a'] = 'no'; c.clear(); c.close(); shutil.rmtree(p)
‖c.incr('a'); (sorted(c), c['a'], len(c['large']), c['b'].tolist())
‖with diskcache.Cache(p) as other: print(sorted(other), other['a'], len(other['large']), other.check())
‖another('import diskcache; print(diskcache.Cache(p)["a"])')
‖c.close(); c['a']
"""),
    "diskcache, in shards": ("diskcache", """
import diskcache; c = diskcache.FanoutCache(p, shards=4)
done = [c.set(n, n) for n in range(50)]
‖c[7] = 'seven'
✗c.clear(); c[99] = 1
‖sorted(map(str, c))[-3:], c[7], len(c)
‖len(diskcache.FanoutCache(p, shards=4)), c.check()
‖c.close()
"""),
    "diskcache, a transaction": ("diskcache", """
import diskcache; c = diskcache.Deque([1, 2], directory=str(p))
t = c.transact(); t.__enter__(); c.append(3)
✗c.clear(); t.__exit__(None, None, None)
‖c.append(4); t.__exit__(None, None, None)
‖list(c), list(diskcache.Deque(directory=str(p)))
"""),
    "joblib.Memory": ("joblib", MEMORY.format("")),
    "joblib.Memory, mapped": ("joblib", MEMORY.format(", mmap_mode='r'")),
    "joblib.load, mapped": ("joblib", """
import joblib; joblib.dump(np.arange(1000), p); a = joblib.load(p, mmap_mode='r+')
‖a[0] = 500
✗a[:] = 0; a.flush(); p.unlink()
‖a[1] = 600; (int(a.sum()), int(joblib.load(p).sum()))
‖int(joblib.load(p, mmap_mode='r').sum())
"""),
    "duckdb": ("duckdb", DUCKDB + """
‖c.execute('insert into t values (-1, null)'); c.execute('checkpoint')
✗c.execute('delete from t'); c.execute('checkpoint'); c.close(); p.unlink()
‖c.execute('update t set n = 7 where n < 5')
look = 'select sum(n), count(*), min(s), max(s) from t'; c.execute(look).fetchall()
‖with duckdb.connect(p) as other: print(other.execute(look).fetchall())
‖c.close()
‖another(f'import duckdb; print(duckdb.connect(p).execute({look!r}).fetchall())')
"""),
    "duckdb, a transaction": ("duckdb", DUCKDB + """
look = 'select count(*), sum(n) from t'
‖c.begin(); c.execute('delete from t where n > 100')
✗c.execute('drop table t'); c.commit()
‖c.execute(look).fetchall(), c.cursor().execute(look).fetchall()
‖c.rollback(); c.execute(look).fetchall()
‖c.close()
"""),
    "duckdb, not waited for to be written": ("duckdb", DUCKDB + """
‖c.execute('insert into t select n, s from t')
✗c.execute('delete from t where n % 2 = 0')
‖c.execute('insert into t values (1, 1)')
‖shutil.copy(p, base / 'g'); shutil.copy(f'{p}.wal', base / 'g.wal')
duckdb.connect(base / 'g').execute('select count(*), sum(n) from t').fetchall()
‖c.close()
"""),
    "duckdb, over the limit of memory": ("duckdb", DUCKDB + """
c.execute('set memory_limit = "20MB"; set threads = 2')
‖c.execute('create table u as select a.n, a.s || b.s s from t a, t b where b.n < 20 order by 2')
✗c.execute('drop table u; create table v as select * from t')
‖c.execute('select count(*), md5(string_agg(s, chr(44) order by s)[:100000]) from u where n < 1000').fetchall()
‖c.close()
"""),
    "pytables": ("tables pandas", """
import pandas as pd; s = pd.HDFStore(p); s.append('t', pd.DataFrame({'x': range(100)}))
‖s.append('t', pd.DataFrame({'x': [1000]}))
✗s.remove('t'); s.put('u', pd.Series([1])); s.close(); p.unlink()
‖s.append('t', pd.DataFrame({'x': [2000]})); s.flush()
s.keys(), int(s.select('t', 'index < 200').x.sum())
‖s.close(); int(pd.read_hdf(p, 't').x.sum())
‖pd.DataFrame({'y': [5]}).to_hdf(p, key='late')
✗pd.DataFrame({'y': [6]}).to_hdf(p, key='t', mode='w')
‖pd.read_hdf(p, 'late').y.tolist(), int(pd.read_hdf(p, 't').x.sum())
"""),
    "pytables, its own arrays": ("tables", """
import tables; f = tables.open_file(p, 'w'); e = f.create_earray('/', 'e', tables.Int64Atom(), (0,))
e.append([1, 2])
‖e.append([3]); f.flush()
✗e.append([9]); f.remove_node('/e'); f.close()
‖e.append([4]); e[:].tolist()
‖f.close(); g = tables.open_file(p); g.root.e[:].tolist()
‖g.close()
"""),
    "feather, mapped": ("pyarrow", """
import pyarrow as pa; from pyarrow import feather
feather.write_feather(pa.table({'x': range(10000)}), p, 'uncompressed')
t = feather.read_table(p, memory_map=True)
‖sum(t['x'].to_pylist())
✗feather.write_feather(pa.table({'x': [0]}), p, 'uncompressed')
‖sum(t['x'].to_pylist()), sum(feather.read_table(p)['x'].to_pylist())
✗p.unlink()
‖t.num_rows, sum(feather.read_table(p, memory_map=True)['x'].to_pylist())
"""),
    "pyarrow, mapped for writing": ("pyarrow", """
import pyarrow as pa; m = pa.create_memory_map(str(p), 1000); m.write(b'one')
‖m.write(b'two')
✗m.write(b'no'); m.close(); p.unlink()
‖m.write(b'three'); (m.tell(), p.read_bytes()[:12])
‖r = pa.memory_map(str(p)); r.read(11)
‖m.close(); r.close()
"""),
    "pyarrow, a writer that is kept": ("pyarrow", """
import pyarrow as pa, pyarrow.parquet as pq; w = pq.ParquetWriter(p, pa.schema([('x', pa.int64())]))
part = pa.table({'x': range(1000)})
w.write_table(part)
‖w.write_table(part)
✗w.write_table(part); w.close()
‖w.write_table(part); w.close()
‖sum(pq.read_table(p)['x'].to_pylist()), pq.ParquetFile(p).num_row_groups, p.stat().st_size
"""),
    "polars, mapped": ("polars", """
import polars as pl; pl.DataFrame({'x': range(10000)}).write_ipc(p); t = pl.read_ipc(p)
lazy = pl.scan_ipc(p)
‖t['x'].sum()
✗pl.DataFrame({'x': [1]}).write_ipc(p)
‖t['x'].sum(), lazy.select(pl.col('x').sum()).collect().item()
‖pl.read_ipc(p)['x'].sum()
"""),
    "git": ("", GIT + """
‖write('b', 'two'), git('add', '-A'), git('commit', '-qm', 'second'), git('branch', 'side')
✗git('reset', '-q', '--hard', 'HEAD~1'), git('gc', '-q', '--prune=now'), git('branch', '-D', 'side')
shutil.rmtree(p / '.git')
‖write('a', 'three'); git('status', '--short'), git('diff'), git('log', '--all', '--format=%H %s')
‖git('commit', '-qam', 'third'), git('fsck', '--strict'), git('rev-parse', 'HEAD')
‖git('gc', '-q'), git('fsck', '--strict'), git('checkout', '-q', 'side'), sorted(os.listdir(p)), (p / 'a').read_text()
‖git('merge', '-q', 'main'), git('rev-parse', 'HEAD')
"""),
    "git, in a rolled-back cell's middle": ("", GIT + """
‖write('b', 'two')
✗git('add', 'b'); write('.git/index.lock', ''); write('.git/HEAD', 'ref: refs/heads/no')
‖git('add', 'b'), git('commit', '-qm', 'second'), git('log', '--format=%H')
‖git('clone', '-q', '.', 'copy'), (p / 'copy' / 'b').read_text()
"""),
    "dbm": ("", """
import dbm; d = dbm.open(str(p), 'n'); d['a'] = '1'
‖d['b'] = '2' * 900
✗d['a'] = 'no'; d['c'] = 'no'; d.close()
for one in base.glob('f*'): one.unlink()
‖d['d'] = '4'; sorted(d.keys()), d['a']
‖d.close(); sorted(dbm.open(str(p)).keys())
"""),
    "shelve": ("", """
import shelve; d = shelve.open(str(p), writeback=True); d['a'] = [1]; d.sync()
‖d['a'].append(2)
✗d['a'].append(3); d.sync(); d.close()
‖d['a'].append(4); d.close()
‖shelve.open(str(p))['a']
"""),
    "an archive": ("", """
import zipfile; z = zipfile.ZipFile(p, 'w'); z.writestr('a', 'one')
‖z.writestr('b', 'two')
✗z.writestr('c', 'no'); z.close(); p.unlink()
‖z.writestr('d', 'four'); z.close()
‖z = zipfile.ZipFile(p); [(name, z.read(name)) for name in z.namelist()], z.testzip()
"""),
    "a log that rolls over": ("", """
import logging.handlers; log = logging.Logger('of-a-row')
handler = logging.handlers.RotatingFileHandler(p, maxBytes=20, backupCount=3)
log.addHandler(handler); log.warning('one'); log.warning('two')
‖log.warning('three' * 3)
✗log.warning('no' * 9); log.warning('no' * 9)
‖log.warning('four')
[(one.name, one.read_text()) for one in sorted(base.iterdir())]
‖handler.close()
"""),
}  # fmt: skip

PLACES = [
    pytest.param("", id="the notebook's folder"),
    pytest.param("/tmp/of-a-library", id="tmp", marks=pytest.mark.thorough),
]


def seen(cell):
    """What a cell has shown, without addresses of objects."""
    return [re.sub(r"0x[0-9a-f]+", "0x", text or "") for text in (cell.result, cell.stdout, cell.stderr)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("packages", "cells"), LIBRARIES.values(), ids=LIBRARIES)
def test_library_finds_its_file_as_it_left_it(kernel, ipykernel, skip_or_fail, packages, place, cells):
    missing = [name for name in packages.split() if importlib.util.find_spec(name) is None]
    if missing:
        skip_or_fail(f"not installed: {', '.join(missing)} (scripts/venv.sh libraries)")
    kernel.good(BEGIN.format(base=place))
    ipykernel.good(BEGIN.format(base=""))
    mine, other = run_all(kernel, cells), run_all(ipykernel, cells, lost=False)
    for one in other + mine:
        assert one.ok, f"{cells}\n{one}"
    assert [seen(one) for one in mine] == [seen(one) for one in other]
