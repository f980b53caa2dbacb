"""`packages`: what isn't listed isn't there, whichever way user code takes to it."""

import importlib.metadata
import os
import pathlib
import py_compile
import subprocess
import sys

from kernels import BUILD, WORK, install

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
CACHE = f"__pycache__/{{}}.{sys.implementation.cache_tag}.pyc"

# The folders of distributions of a base interpreter and of the system.
FOLDERS = sorted(
    str(folder)
    for prefix in {sys.base_prefix, "/usr", "/usr/local"}
    for pattern in ("lib/python3*/site-packages", "lib/python3*/dist-packages")
    for folder in pathlib.Path(prefix).glob(pattern)
    if folder.is_dir()
)
MODULES = sorted(
    {
        name
        for one in importlib.metadata.distributions(path=FOLDERS)
        for name in (one.read_text("top_level.txt") or "").split()
        if name.isidentifier() and name not in sys.stdlib_module_names
    }
)


def make_environment(folder):
    """A virtual environment with the distributions seen and unseen, each with a module, data and a script, and a share
    of the package space; returns its site-packages."""
    site = folder / "lib" / VERSION / "site-packages"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    for name in ("seen", "unseen"):
        paths = [
            f"{name}.py",
            f"space/{name}.py",
            f"{name}_data/table",
            f"../../../bin/{name}",
            f"../../../share/{name}/table",
            f"../../../share/jupyter/kernels/{name}/kernel.json",
        ]
        for path in paths:
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text("value = 5\n")
        for path in (site / f"{name}.py", site / "space" / f"{name}.py"):
            py_compile.compile(path, cfile=path.parent / CACHE.format(path.stem))
        (site / f"{name}-1.0.dist-info").mkdir()
        (site / f"{name}-1.0.dist-info" / "RECORD").write_text("".join(f"{path},,\n" for path in paths))
    return site


def files_of(kernel, folder):
    """All that a cell finds below a folder."""
    look = (
        "import os\n"
        f"sorted(os.path.relpath(os.path.join(at, name), {str(folder)!r}) for at, _, names in os.walk({str(folder)!r})"
        " for name in names)"
    )
    return eval(kernel.value(look))


def test_packages_of_the_base_and_the_system_cannot_be_imported_by_their_folders(configure, start):
    assert MODULES and FOLDERS, "this machine has none"
    configure(packages=["pandas"])
    kernel = start()
    kernel.run(f"import sys\nfolders, modules = {FOLDERS!r}, {MODULES!r}\nsys.path.extend(folders)")
    kernel.run("from importlib.util import find_spec\nfound = {name: find_spec(name) for name in modules}")
    seen = "[name for name, spec in found.items() if spec and str(spec.origin).startswith(tuple(folders))]"
    assert kernel.value(seen) == "[]"
    assert kernel.value("import os; [name for folder in folders for name in os.listdir(folder)]") == "[]"
    assert kernel.run("import pip").ename == "ModuleNotFoundError"


def test_packages_bundled_as_wheels_are_not_there(configure, start):
    configure(packages=[])
    kernel = start()
    wheels = (
        "import os, pathlib, ensurepip\n"
        "folders = [pathlib.Path(ensurepip.__file__).parent / '_bundled', pathlib.Path('/usr/share/python-wheels')]\n"
        "[path.name for folder in folders for path in folder.glob('*.whl')]"
    )
    assert kernel.value(wheels) == "[]"


def test_files_of_unlisted_packages_are_in_no_folder_of_the_environment(configure, start, tmp_path):
    site = make_environment(tmp_path / "venv")
    modes = {site / "space": 0o775, tmp_path / "venv" / "share": 0o705, site: 0o755}
    for folder, mode in modes.items():
        folder.chmod(mode)
    (tmp_path / "notebook").mkdir()
    configure(packages=["seen"])
    kernel = start(
        kernel_dir=install(tmp_path / "own", tmp_path / "venv" / "bin" / "python"), folder=tmp_path / "notebook"
    )
    for folder, mode in modes.items():
        assert kernel.value(f"import os; os.stat('{folder}').st_mode & 0o777") == str(mode)
    load = (
        "from importlib.machinery import SourcelessFileLoader\n"
        f"SourcelessFileLoader('a', '{site}/{CACHE}').get_code('a').co_names"
    )
    assert kernel.value(load.format("seen")) == "('value',)"
    assert kernel.run(load.format("unseen")).ename == "FileNotFoundError"
    assert kernel.value("import seen, space.seen; seen.value + space.seen.value") == "10"
    assert kernel.run("import space.unseen").ename == "ModuleNotFoundError"
    assert files_of(kernel, site) == sorted(
        [
            CACHE.format("seen"),
            "seen-1.0.dist-info/RECORD",
            "seen.py",
            "seen_data/table",
            "space/" + CACHE.format("seen"),
            "space/seen.py",
        ]
    )
    assert files_of(kernel, tmp_path / "venv" / "share") == ["jupyter/kernels/seen/kernel.json", "seen/table"]
    scripts = files_of(kernel, tmp_path / "venv" / "bin")
    assert "seen" in scripts and "python" in scripts and "unseen" not in scripts


def test_environment_in_the_notebook_folder_shows_the_same_there(configure, start, tmp_path):
    make_environment(tmp_path / "venv")
    configure(packages=["seen"])
    kernel = start(kernel_dir=install(tmp_path / "own", tmp_path / "venv" / "bin" / "python"), folder=tmp_path)
    for folder in (tmp_path, WORK):
        found = [path for path in files_of(kernel, f"{folder}/venv") if "unseen" in path]
        assert found == [], folder


def test_notebook_folder_inside_of_an_environment_is_shown_and_written(configure, start, tmp_path):
    make_environment(tmp_path / "venv")
    folder = tmp_path / "venv" / "share" / "notebooks"
    folder.mkdir()
    (folder / "table.csv").write_text("a,b\n")
    configure(packages=["seen"])
    kernel = start(kernel_dir=install(tmp_path / "own", tmp_path / "venv" / "bin" / "python"), folder=folder)
    for at in (folder, WORK):
        assert kernel.value(f"open('{at}/table.csv').read()") == "'a,b\\n'"
        assert kernel.value(f"open('{at}/new.csv', 'w').write('c')") == "1"
        assert kernel.value(f"open('{WORK}/new.csv').read()") == "'c'"
    assert files_of(kernel, tmp_path / "venv" / "share" / "unseen") == []


def test_listed_packages_work_with_what_they_require_and_their_data(configure, start):
    configure(packages=["matplotlib", "pandas"])
    kernel = start()
    use = (
        "import os, sys, importlib.metadata, pathlib\nimport pandas, matplotlib, matplotlib.pyplot as plt\n"
        "plt.plot([1, 2]); plt.close()\n"
        "missing = [str(path) for name in ('matplotlib', 'pandas', 'numpy', 'pillow', 'ipython')\n"
        "           for path in importlib.metadata.files(name) if not path.locate().exists()]\n"
        "missing, pandas.Series([1, 2]).sum() * 1.0, os.path.exists(matplotlib.matplotlib_fname())"
    )
    missing, *rest = eval(kernel.value(use).replace("np.float64", ""))
    # An installer's list may name what is not on the host either.
    assert [path for path in missing if (BUILD / "venv" / "lib" / VERSION / "site-packages" / path).exists()] == []
    assert rest == [3.0, True]
    assert kernel.value("import subprocess, sys; subprocess.run([sys.executable, '-c', '0']).returncode") == "0"


def test_fifos_in_place_of_metadata_keep_no_kernel_from_starting(configure, start, tmp_path):
    site = make_environment(tmp_path / "venv")
    for name in ("seen", "unseen"):
        os.mkfifo(site / f"{name}-1.0.dist-info" / "METADATA")
        (site / f"{name}-1.0.dist-info" / "RECORD").unlink()
        os.mkfifo(site / f"{name}-1.0.dist-info" / "RECORD")
    (tmp_path / "notebook").mkdir()
    configure(packages=["seen"])
    kernel = start(
        kernel_dir=install(tmp_path / "own", tmp_path / "venv" / "bin" / "python"), folder=tmp_path / "notebook"
    )
    assert kernel.value("import seen; seen.value") == "5"
    assert kernel.run("import unseen").ename == "ModuleNotFoundError"


# Modules that the host adds


def test_modules_that_are_put_beside_the_notebook_are_found_by_the_next_cell(start, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    for name in ("petri", "petri-writable"):
        kernel, new = start(name=name), f"new_{name.replace('-', '_')}"
        # Python has listed both folders, and the session has written in them: pack/__pycache__.
        assert kernel.run(f"import pack\nopen('own', 'w').close()\nimport {new}").ename == "ModuleNotFoundError"
        assert kernel.run(f"import pack.{new}").ename == "ModuleNotFoundError"
        for folder in (tmp_path, tmp_path / "pack"):
            (folder / f"{new}.py").write_text("answer = 42\n")
        assert kernel.good(f"import {new}, pack.{new}\n{new}.answer + pack.{new}.answer").result == "84"
        # And where the cell between is lost.
        (tmp_path / f"{new}_2.py").write_text("answer = 43\n")
        assert kernel.run(f"import os, {new}_2\nos._exit(1)").ename == "CellCrashed"
        assert kernel.good(f"import {new}_2\n{new}_2.answer").result == "43"
