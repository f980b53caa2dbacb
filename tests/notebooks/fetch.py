"""Fetches the notebooks of corpus.json from the packages' source archives, and the files that they read.

usage: fetch.py

Into build/notebooks, by pip; what is there already is not fetched again. Nothing of an
archive but those files is kept, and nothing of it is run: pip asks the build back end
for a package's name and version, and back ends that know no more take their place.

Says what could not be had. With PETRI_REQUIRE_LIVE=1 that is an error.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import corpus

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PETRI_BUILD", ROOT / "build"))

# The build back ends that the packages of the corpus name.
BACK_ENDS = (
    "flit_core.buildapi",
    "hatchling.build",
    "jupyter_packaging.build_api",
    "mesonpy",
    "poetry.core.masonry.api",
    "scikit_build_core.build",
    "setuptools.build_meta",
)

# What takes the place of each. See: PEP 517, prepare_metadata_for_build_wheel.
STAND_IN = '''
import email, pathlib, sys

__legacy__ = sys.modules[__name__]

def get_requires_for_build_wheel(config_settings=None):
    return []

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    about = email.message_from_string(pathlib.Path("PKG-INFO").read_text(encoding="utf-8"))
    folder = pathlib.Path(metadata_directory, f"{about['Name'].replace('-', '_')}-{about['Version']}.dist-info")
    folder.mkdir()
    text = f"Metadata-Version: 2.1\\nName: {about['Name']}\\nVersion: {about['Version']}\\n"
    (folder / "METADATA").write_text(text, encoding="utf-8")
    return folder.name
'''


class CannotBeHad(Exception):
    """Why a package's notebooks could not be fetched, in a sentence."""


def write_stand_ins(folder):
    for name in BACK_ENDS:
        *packages, module = name.split(".")
        inner = folder
        for package in packages:
            inner /= package
            inner.mkdir(exist_ok=True)
            (inner / "__init__.py").touch()  # without it an installed package of that name would be found first
        (inner / f"{module}.py").write_text(STAND_IN)


def download(package, folder):
    """The package's source archive, in the folder."""
    with tempfile.TemporaryDirectory() as stand_ins:
        write_stand_ins(pathlib.Path(stand_ins))
        name = f"{package['package']}=={package['version']}"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "-d", folder]
        whole = ["--no-deps", "--no-binary", ":all:", "--ignore-requires-python"]
        unbuilt = ["--use-pep517", "--no-build-isolation"]
        env = {**os.environ, "PYTHONPATH": stand_ins}
        done = subprocess.run([*pip, *whole, *unbuilt, name], env=env, capture_output=True, text=True, check=False)
    archives = list(pathlib.Path(folder).glob("*.tar.gz"))
    if done.returncode != 0 or len(archives) != 1:
        last = done.stderr.strip().splitlines()[-1:] or ["no source archive"]
        raise CannotBeHad(f"pip could not fetch it: {last[0]}")
    return archives[0]


def wanted(package):
    """The paths in the archive of a package's notebooks and of the files that they read."""
    return {path for notebook, files in package["notebooks"].items() for path in (notebook, *files.values())}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def extract(archive, paths, folder):
    """Writes the files at those paths, which are relative to the archive's only folder, below another folder."""
    with tarfile.open(archive) as tar:
        members = {member.name.partition("/")[2]: member for member in tar.getmembers() if member.isfile()}
        if missing := paths - set(members):
            raise CannotBeHad(f"its archive has no {', '.join(sorted(missing))}")
        for path in paths:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(members[path]).read())


def fetch(package):
    """Makes sure that the package's notebooks are there; CannotBeHad says why they can't be."""
    folder = corpus.folder_of(package, BUILD)
    if all((folder / path).is_file() for path in wanted(package)):
        return
    with tempfile.TemporaryDirectory() as scratch:
        archive = download(package, scratch)
        if digest(archive) != package["sha256"]:
            raise CannotBeHad(f"its archive has changed: its SHA-256 is {digest(archive)}")
        extract(archive, wanted(package), folder)


def lacks(package):
    """A sentence that says what is not there of a package, or None."""
    folder = corpus.folder_of(package, BUILD)
    missing = [path for path in sorted(wanted(package)) if not (folder / path).is_file()]
    if missing:
        name = f"{package['package']} {package['version']}"
        return f"{name}: {missing[0]} is not there; tests/notebooks/fetch.py fetches it"
    return None


def main():
    had = 0
    failures = []
    for package in corpus.packages():
        try:
            fetch(package)
            had += len(package["notebooks"])
        except CannotBeHad as why:
            failures.append(f"{package['package']} {package['version']}: {why}")
    print(f"notebooks: {had} are there, from {len(corpus.packages()) - len(failures)} packages")
    for failure in failures:
        print(f"notebooks: could not be had: {failure}", file=sys.stderr)
    return 1 if failures and os.environ.get("PETRI_REQUIRE_LIVE") == "1" else 0


if __name__ == "__main__":
    sys.exit(main())
