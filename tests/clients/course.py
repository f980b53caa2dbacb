"""examples/course as its README has it installed: in folders of an ordinary user, graded by nbgrader from build/course."""

import contextlib
import csv
import os
import pathlib
import shutil
import subprocess
import tempfile

import nbformat

import commands
import installed
from accounts import account
from hubs import PATIENT
from kernels import BUILD, ROOT, STUCK_S

EXAMPLE = ROOT / "examples" / "course"
ENVIRONMENT = BUILD / "course"  # by scripts/venv.sh course
PATIENT_NBGRADER = (("Preprocessor.timeout = 120", "Preprocessor.timeout = 300"),)  # more than petri gives, as there
ASSIGNMENTS = ("look", "group", "function")

# Run as root: shows the environment at a path that everybody can read, and becomes the user for good.
BECOME = """
mount --bind "$1" "$2"
user=$3
shift 3
exec setpriv --reuid="$user" --regid="$user" --init-groups --no-new-privs "$@"
"""

# They are started by their names, and the scripts of the environment name the path at which it was made.
PROGRAMS = ("alembic", "nbgrader")
PROGRAM = '#!/bin/sh\nexec "{python}" -m {name} "$@"\n'


class Place:
    """A machine with a class. folder: one that every user can read; user: whose it is, as pwd has it."""

    def __init__(self, folder, user):
        self.folder, self.user = folder, user
        self.data = folder / "class" / "data"
        self.environment = folder / "environment"
        if os.geteuid() == 0:
            self.environment.mkdir()
        else:
            self.environment.symlink_to(ENVIRONMENT)
        self.python = self.environment / "bin" / "python"
        self.env = {
            "HOME": str(folder / "home"),
            "JUPYTER_PATH": str(folder / "prefix" / "share" / "jupyter"),
            "LANG": "C.UTF-8",
            "PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        }
        for name in ("home", "bin"):
            (folder / name).mkdir()
        for name in PROGRAMS:
            (folder / "bin" / name).write_text(PROGRAM.format(python=self.python, name=name))
            (folder / "bin" / name).chmod(0o755)
        self._install()

    def _install(self):
        """petri as `make install` leaves it, and what the README has done with a checkout."""
        prefix, checkout = self.folder / "prefix", self.folder / "checkout"
        (self.folder / "bin" / "petri").symlink_to(installed.prefix() / "bin" / "petri")
        shutil.copytree(EXAMPLE, checkout / "examples" / "course")
        example = checkout / "examples" / "course"
        for path in (example / "petri.json", *example.rglob("*.ipynb")):
            path.write_text(self.own(path.read_text()))
        for name, patient in (("petri.json", PATIENT), ("nbgrader_config.py", PATIENT_NBGRADER)):
            (example / name).write_text(commands.replaced((example / name).read_text(), *patient))
        self.give(self.folder)
        script = commands.sh("examples/course/README.md", "Ten minutes", 1)
        own = ("sudo ", ""), ("--sys-prefix", f"--prefix {prefix} --python {self.python}")
        self.sh(self.own(commands.replaced(script, *own)), folder=checkout)

    def own(self, text):
        """A text of the course with this place's paths."""
        return text.replace("/srv/class", str(self.folder / "class"))

    def give(self, folder):
        """To the user."""
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{self.user.pw_uid}:{self.user.pw_gid}", folder], check=True)

    def command(self, *words):
        """What runs a command as the user."""
        before = []
        if os.geteuid() == 0:
            before = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", BECOME, "sh", ENVIRONMENT]
            before += [self.environment, self.user.pw_name]
        return [str(word) for word in (*before, *words)]

    def run(self, *words, folder=None, check=True):
        """Runs a command as the user; returns what it has printed."""
        done = subprocess.run(
            self.command(*words),
            cwd=folder or self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=5 * STUCK_S,
        )
        assert done.returncode == 0 or not check, done.stdout
        return done.stdout

    def sh(self, script, folder=None):
        """Runs commands of the README's as the user; what they have printed."""
        return self.run("sh", "-ec", script, folder=folder)

    def start(self, *words, folder=None, output=os.devnull):
        """Starts a command as the user; output: the file for what it prints."""
        with open(output, "w", encoding="utf-8") as file:
            streams = {"stdout": file, "stderr": subprocess.STDOUT}
            return subprocess.Popen(self.command(*words), cwd=folder or self.folder, env=self.env, **streams)


@contextlib.contextmanager
def a_place(name):
    """A place for an account of its own, both removed with the block."""
    assert (ENVIRONMENT / "bin" / "python").exists(), "the environment is not there: scripts/venv.sh course"
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-"))
    folder.chmod(0o755)
    try:
        with account(name) as user:
            yield Place(folder, user)
    finally:
        shutil.rmtree(folder)


class Course:
    """The course in a teacher's folder: where the README has put it, or a copy for another kernel."""

    def __init__(self, place, kernel=None):
        self.place, self.folder = place, place.folder / "home" / "course"
        if kernel:
            self.folder = place.folder / f"course-{kernel}"
            shutil.copytree(place.folder / "checkout" / "examples" / "course", self.folder)
            for path in (self.folder / "source").glob("*/*.ipynb"):
                path.write_text(path.read_text().replace("petri-classroom", kernel))
            place.give(self.folder)

    def sh(self, script):
        return self.place.sh(script, folder=self.folder)

    def nbgrader(self, *words, check=True):
        return self.place.run(self.place.python, "-m", "nbgrader", *words, folder=self.folder, check=check)

    def notebook(self, step, assignment, student="."):
        return self.folder / step / student / assignment / f"{assignment}.ipynb"

    def hand_in(self, student, assignment, work):
        """Makes a student's submission of the notebook that was released: work(cells by their id) fills it in."""
        notebook = nbformat.read(self.notebook("release", assignment), as_version=4)
        work(notebook)
        path = self.notebook("submitted", assignment, student)
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
        self.place.give(self.folder / "submitted")

    def graded(self, student, assignment):
        """The cells of a graded notebook, by their ids."""
        notebook = nbformat.read(self.notebook("autograded", assignment, student), as_version=4)
        return {cell.id: cell for cell in notebook.cells}

    def scores(self):
        """What nbgrader's own export says: points by student and assignment."""
        self.nbgrader("export", "--to", "grades.csv")
        with open(self.folder / "grades.csv", encoding="utf-8", newline="") as file:
            return {(row["student_id"], row["assignment"]): float(row["raw_score"]) for row in csv.DictReader(file)}


def contents(folder):
    """What is in a folder: bytes by path."""
    return {path.relative_to(folder): path.read_bytes() for path in pathlib.Path(folder).rglob("*") if path.is_file()}
