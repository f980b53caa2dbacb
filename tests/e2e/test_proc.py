"""/proc and /sys of a cell: small, and enough for libraries and tools."""

import os
import shutil

# What of /proc is more than a name; docs/sandbox.md says what each is for.
SHOWN = {"cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self"} | {
    *("stat", "sys", "thread-self", "uptime", "version", "vmstat")
}

# Names of /proc that are neither shown nor empty.
LISTING = """
import os
found = []
for name in os.listdir("/proc"):
    path = f"/proc/{name}"
    if name.isdigit() or name in SHOWN:
        continue
    if os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1):
        found.append(name)
found
"""

LIBRARIES = {
    "psutil": """
import psutil, os, warnings
warnings.simplefilter("error")
assert psutil.cpu_count() == os.cpu_count() > 0
assert psutil.cpu_count(logical=False) > 0
assert psutil.virtual_memory().total > psutil.virtual_memory().available > 0
assert psutil.swap_memory().sin == 0
assert 0 < psutil.boot_time() < psutil.Process().create_time()
assert psutil.cpu_percent(interval=0.01) == 0.0
assert psutil.cpu_times().user == 0
assert psutil.Process().memory_info().rss > 1 << 20
assert "python" in psutil.Process().cmdline()[0]
assert psutil.Process().parent() is None
assert psutil.pids() == [os.getpid()]
assert [process.pid for process in psutil.process_iter(["name", "username", "cpu_percent"])] == [os.getpid()]
assert psutil.disk_usage("/tmp").total > 0
assert psutil.disk_io_counters() is None
assert psutil.net_io_counters(pernic=True).keys() == {"lo"}
psutil.disk_partitions(all=True), psutil.net_connections(), psutil.getloadavg(), psutil.users(), psutil.cpu_stats()
""",
    "numpy": "import numpy; a = numpy.ones((400, 400)); assert (a @ a)[0, 0] == 400",
    "pandas": "import pandas; assert pandas.DataFrame({'a': [1, 2]}).memory_usage().sum() > 0",
    "polars": "import polars; assert polars.thread_pool_size() > 0; assert polars.Series([1, 2]).sum() == 3",
    "duckdb": "import duckdb; assert duckdb.sql('select 42').fetchall() == [(42,)]",
    "joblib": """
import joblib, warnings
warnings.simplefilter("error")
assert joblib.cpu_count(only_physical_cores=True) > 0
assert joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(n) for n in (-1, -2)) == [1, 2]
""",
    "multiprocessing": """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
""",
    "os": "import os; assert os.sysconf('SC_PHYS_PAGES') > 0 and os.sysconf('SC_NPROCESSORS_CONF') >= os.cpu_count()",
}

# What a tool prints, as a pattern.
TOOLS = {
    "lscpu": r"(?m)^CPU\(s\): +[1-9]",
    "free": "Mem: +[1-9]",
    "ps": "PID",
    "nproc": "^[1-9]",
    "uptime": "load average: [0-9]",
    "df": "/tmp",
}


def test_proc_has_nothing_but_what_is_listed(row_kernel):
    assert row_kernel.value(f"SHOWN = {SHOWN!r}\n{LISTING}") == "[]"


def test_libraries_find_what_they_read(row_kernel):
    for module, code in LIBRARIES.items():
        if row_kernel.interpreter.has(module):
            row_kernel.good(code)


def test_tools_find_what_they_read(row_kernel):
    path = "/usr/bin:/bin"
    for tool, pattern in TOOLS.items():
        if shutil.which(tool, path=path):
            code = (
                "import re, subprocess\n"
                f"run = subprocess.run({[tool]!r}, capture_output=True, text=True, env={{'PATH': {path!r}}})\n"
                f"run.returncode, bool(re.search({pattern!r}, run.stdout)), run.stderr"
            )
            assert row_kernel.value(code) == "(0, True, '')", tool


def test_nothing_in_proc_names_the_connection_file(row_kernel):
    code = (
        "import glob\nfound = []\nplaces = ['/proc/1/cmdline', '/proc/cmdline', '/proc/self/mountinfo']\n"
        "for path in glob.glob('/proc/[0-9]*/cmdline') + places:\n"
        "    try:\n        found += [path] * (NAME in open(path).read())\n"
        "    except OSError:\n        pass\n"
        "found"
    )
    name = os.path.basename(row_kernel.manager.connection_file)
    assert row_kernel.value(f"NAME = {name!r}\n{code}") == "[]"


def test_own_processes_tell_no_more_than_linux_shows_anybody(row_kernel):
    code = """
import struct
def attempt(path, mode):
    try:
        return open(f"/proc/self/{path}", mode).read(8) if "w" not in mode else open(f"/proc/self/{path}", mode)
    except OSError as error:
        return type(error).__name__
files = ["clear_refs", "comm", "coredump_filter", "gid_map", "mem", "oom_score_adj", "timerslack_ns", "uid_map"]
print([path for path in files if not isinstance(attempt(path, "wb"), str)])
print(attempt("stack", "rb"))
with open("/proc/self/pagemap", "rb") as pages:
    pages.seek(id(files) >> 12 << 3)
    print(struct.unpack("Q", pages.read(8))[0] & ((1 << 55) - 1))
"""
    assert row_kernel.good(code).stdout == "[]\nPermissionError\n0\n"
