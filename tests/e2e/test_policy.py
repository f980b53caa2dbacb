"""What the operator's configuration decides: refused code, folders to read, and which packages there are."""

import fcntl
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile

import pytest

from kernels import BUILD, WORK, install


@pytest.mark.check
def test_refused_code_is_named_with_its_line_and_does_not_run(configure, start):
    configure(refuse={"imports": ["socket", "urllib.request"], "patterns": ["rm -rf", "\\beval\\("]})
    kernel = start()
    rows = [
        ("ran = 1\nimport socket", 2, "line 2 imports socket"),
        ("ran = 1\nif True:\n    from urllib import request", 3, "line 3 imports urllib.request"),
        ("%%limits timeout=3s\nran = 1\nfrom socket import socket as s", 3, "line 3 imports socket"),
        ("%%limits timeout=3s\n%%time\nran = 1\nimport socket", 4, "line 4 imports socket"),
        ("\n%%capture\n\nran = 1\nimport urllib.request, os", 5, "line 5 imports urllib.request"),
        ("ran = 1\n!rm -rf /tmp/x", 2, "it matches rm -rf"),
        ("ran = eval('1')", 1, "it matches \\beval\\("),
    ]
    for code, line, why in rows:
        cell = kernel.ask(code, {})
        assert cell.ename == "CellRefused" and why in cell.reply["evalue"], code
        assert cell.report["outcome"] == "refused" and cell.report["error"]["line"] == line, code
    assert kernel.run("ran").ename == "NameError"
    assert kernel.value("import urllib.parse, os\n'import socket' and 6 * 7") == "42"


def test_folders_of_the_configuration_can_be_read_and_not_written(configure, start, tmp_path, tmp_path_factory):
    data = tmp_path_factory.mktemp("inputs")
    (data / "table.csv").write_text("a,b\n")
    os.chmod(data, 0o755)
    os.chmod(data.parent, 0o755)
    configure(inputs=[str(data)])
    kernel = start()
    assert kernel.value(f"open('{data}/table.csv').read()") == "'a,b\\n'"
    assert kernel.run(f"open('{data}/new', 'w')").ename in ("OSError", "PermissionError")
    assert not (data / "new").exists()


def test_host_sockets_and_fifos_in_inputs_cannot_be_reached(configure, start, tmp_path_factory):
    """Sockets and FIFOs have nothing to do with read-only."""
    data = tmp_path_factory.mktemp("inputs")
    for folder in (data, data.parent):
        folder.chmod(0o755)
    os.mkfifo(data / "host.fifo")
    fifo = os.open(data / "host.fifo", os.O_RDWR | os.O_NONBLOCK)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(data / "host.sock"))
        listener.listen()
        for name in ("host.fifo", "host.sock"):
            (data / name).chmod(0o666)
        configure(inputs=[str(data)])
        kernel = start()
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect('{data}/host.sock')"
        assert kernel.run(connect).ename == "ConnectionRefusedError"
        kernel.run(f"import os; os.write(os.open('{data}/host.fifo', os.O_RDWR | os.O_NONBLOCK), b'out')")
        assert select.select([listener, fifo], [], [], 0)[0] == []
    os.close(fifo)


def test_host_sockets_and_fifos_in_an_environment_cannot_be_reached(start, tmp_path):
    make_environment(tmp_path / "venv")
    os.mkfifo(tmp_path / "venv" / "lib" / "host.fifo", 0o666)
    fifo = os.open(tmp_path / "venv" / "lib" / "host.fifo", os.O_RDWR | os.O_NONBLOCK)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "venv" / "lib" / "host.sock"))
        listener.listen()
        (tmp_path / "venv" / "lib" / "host.sock").chmod(0o666)
        (tmp_path / "notebook").mkdir()
        kernel_dir = install(tmp_path / "own", tmp_path / "venv" / "bin" / "python")
        kernel = start(kernel_dir=kernel_dir, folder=tmp_path / "notebook")
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect('{tmp_path}/venv/lib/host.sock')"
        assert kernel.run(connect).ename == "ConnectionRefusedError"
        kernel.run(f"import os; os.write(os.open('{tmp_path}/venv/lib/host.fifo', os.O_RDWR | os.O_NONBLOCK), b'out')")
        assert select.select([listener, fifo], [], [], 0)[0] == []
    os.close(fifo)


@pytest.fixture
def readable_folder():
    """Outside of /tmp, for cells have one of their own."""
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_locks_on_inputs_do_not_reach_the_host(configure, start, readable_folder):
    folder, single = readable_folder / "folder", readable_folder / "single.csv"
    folder.mkdir()
    files = (folder / "inside.csv", single)
    for path in (*files, readable_folder / "other.csv"):
        path.write_text("a,b\n")
    configure(inputs=[str(folder), str(single)])
    kernel = start()
    for path in files:
        lock = f"import fcntl\nf = open('{path}')\nfcntl.flock(f, fcntl.LOCK_EX)"
        request, _ = kernel.start_busy("while True: pass", lock)
        with open(path) as own:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        kernel.manager.interrupt_kernel()
        kernel.finish(request)
        assert kernel.value(f"open('{path}').read()") == "'a,b\\n'"
    assert kernel.value(f"import os; sorted(os.listdir('{readable_folder}'))") == "['folder', 'single.csv']"


def test_a_file_as_the_only_input_is_shown_and_nothing_beside_it(configure, start, readable_folder):
    single = readable_folder / "folder" / "below" / "single.csv"
    single.parent.mkdir(parents=True)
    for path in (single, single.with_name("other.csv")):
        path.write_text("a,b\n")
    configure(inputs=[str(single)])
    kernel = start()
    assert kernel.value(f"open('{single}').read()") == "'a,b\\n'"
    assert kernel.value(f"import os; os.listdir('{single.parent}')") == "['single.csv']"


def test_only_listed_packages_and_what_they_require_are_there(configure, start):
    configure(packages=["pandas"])
    kernel = start()
    assert kernel.value("import pandas; int(pandas.Series([1, 2]).sum())") == "3"
    assert kernel.value("import numpy, dateutil, json; numpy.arange(3).sum() * 1") == "np.int64(3)"
    cell = kernel.run("import sklearn")
    assert cell.ename == "ModuleNotFoundError"
    assert "No module named 'sklearn'" in cell.reply["evalue"] and '"packages": pandas' in cell.reply["evalue"]
    quiet = "try:\n    import polars\nexcept ImportError as error:\n    print(error)"
    assert kernel.run(quiet).stdout == "No module named 'polars'\n"
    # Nothing of them is there in another way either.
    look = (
        f"import os, sys\nfound = [os.path.join(folder, name) for top in {{*sys.path, sys.prefix, {WORK!r}}}"
        " for folder, _, names in os.walk(top) for name in names]\n"
        "[name for name in found if 'sklearn' in name or 'polars' in name]"
    )
    assert kernel.value(look) == "[]"
    assert "PETRI_PACKAGES" not in kernel.value("import os; dict(os.environ)")


def test_no_listed_package_leaves_ipython_and_the_standard_library(configure, start):
    configure(packages=[])
    kernel = start()
    assert kernel.value("import json, sqlite3; get_ipython().system('exit 3'); _exit_code") == "3"
    assert kernel.run("import numpy").ename == "ModuleNotFoundError"


def make_environment(folder):
    """A virtual environment with two distributions, shown-thing and hidden-thing; returns its site-packages."""
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    for name in ("shown", "hidden"):
        (site / f"{name}_thing-1.0.dist-info").mkdir()
        (site / f"{name}_thing-1.0.dist-info" / "RECORD").write_text(f"{name}_thing/__init__.py,,\n")
        (site / f"{name}_thing").mkdir()
        (site / f"{name}_thing" / "__init__.py").write_text("value = 5\n")
    return site


def check_hidden_thing_is_not_seen_at(kernel, *sites):
    assert kernel.value("import shown_thing; shown_thing.value") == "5"
    assert kernel.run("import hidden_thing").ename == "ModuleNotFoundError"
    for site in sites:
        listed = kernel.value(f"import os; sorted(os.listdir({str(site)!r}))")
        assert listed == "['shown_thing', 'shown_thing-1.0.dist-info']", site


def test_packages_of_an_environment_in_the_notebook_folder_are_hidden_too(configure, start, kernel_dirs, tmp_path):
    """The environment of a project often lies in its folder, which cells see at two more places."""
    folder = tmp_path / "project"
    site = make_environment(folder / "venv")
    configure(packages=["shown-thing"])
    kernel_dir = install(tmp_path / "own", folder / "venv" / "bin" / "python")
    kernel = start(kernel_dir=kernel_dir, folder=folder)
    check_hidden_thing_is_not_seen_at(kernel, site, f"{WORK}/{site.relative_to(folder)}")


def test_packages_of_an_environment_with_many_links_are_hidden_at_each(configure, start, tmp_path):
    """An interpreter is shown by each link that leads to it."""
    site = make_environment(tmp_path / "real")
    (tmp_path / "middle").symlink_to(tmp_path / "real")
    (tmp_path / "top").symlink_to(tmp_path / "middle")
    configure(packages=["shown-thing"])
    (tmp_path / "notebook").mkdir()
    kernel_dir = install(tmp_path / "own", tmp_path / "top" / "bin" / "python")
    kernel = start(kernel_dir=kernel_dir, folder=tmp_path / "notebook")
    sites = [tmp_path / name / site.relative_to(tmp_path / "real") for name in ("top", "middle", "real")]
    check_hidden_thing_is_not_seen_at(kernel, *sites)


def test_hidden_entries_of_home_are_shown_only_if_inputs_lists_them(configure, start, tmp_path, monkeypatch):
    """Keys and histories are hidden where the notebook's folder is a home, also beside what the operator names."""
    home = tmp_path / "home"
    listed = [home / f".listed{n}" for n in range(12)] + [home / ".config" / "deep" / "listed"]
    others = [home / ".other", home / ".config" / "other", home / ".config" / "deep" / "other"]
    for folder in [*listed, *others]:
        folder.mkdir(parents=True)
        (folder / "file").write_text("there")
    (home / "plain").mkdir()
    monkeypatch.setenv("HOME", str(home))
    configure(inputs=[str(folder) for folder in listed])
    kernel = start(folder=home)
    for seen_at in (home, WORK):
        for folder in listed:
            assert kernel.value(f"open('{seen_at}/{folder.relative_to(home)}/file').read()") == "'there'"
        for folder in others:
            assert kernel.value(f"import os; os.path.lexists('{seen_at}/{folder.relative_to(home)}')") == "False"
        assert kernel.value(f"import os; sorted(os.listdir('{seen_at}/.config'))") == "['deep']"
        assert "plain" in kernel.value(f"import os; os.listdir('{seen_at}')")
    assert kernel.run("open('.config/new', 'w').close()").ok
