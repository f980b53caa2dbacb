"""JupyterHub, as examples/course has it: two students log in, and each starts a server and a kernel of the course."""

import shutil
import urllib.error
from concurrent.futures import ThreadPoolExecutor

import pytest

from course import EXAMPLE, a_place
from hubs import Student, request, wait_for
from jupyters import CLIENTS
from kernels import STUCK_S

# In one process: a hub is there once. useradd(8) waits for others that make accounts.
pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("hub")]

STUDENTS = ("ada", "ben")

# Over that of the course: nobody of these has an account, and several hubs may run on one machine.
OVER = """
load_subconfig({course!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r}
c.Authenticator.allowed_users = {students!r}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.command = ["node", {proxy!r}]
c.Spawner.environment |= {{"JUPYTER_PATH": {jupyter_path!r}}}
"""

LOOP = "while True: pass"

# The names in a configuration that its class doesn't know, of the classes that are used without OVER.
UNKNOWN = """
import sys
from jupyterhub.app import JupyterHub
from jupyterhub.auth import PAMAuthenticator
from jupyterhub.spawner import LocalProcessSpawner
from traitlets.config.loader import PyFileConfigLoader

config = PyFileConfigLoader(sys.argv[1]).load_config()
known = {cls.__name__: cls for used in (JupyterHub, PAMAuthenticator, LocalProcessSpawner) for cls in used.__mro__}
print([f"{name}.{key}" for name in config for key in config[name] if key not in known[name].class_trait_names()])
"""


class Hub:
    """A running JupyterHub of the course."""

    def __init__(self, place, next_port):
        self.place = place
        port, hub_port, api_port = next_port(), next_port(), next_port()
        self.url = f"http://127.0.0.1:{port}"
        shutil.copytree(CLIENTS / "node" / "node_modules", place.folder / "node_modules", symlinks=True)
        folder = place.folder / "hub"
        folder.mkdir()
        config = folder / "config.py"
        proxy = place.folder / "node_modules" / "configurable-http-proxy" / "bin" / "configurable-http-proxy"
        values = {
            "students": set(STUDENTS),
            "course": str(place.folder / "jupyterhub_config.py"),
            "homes": str(folder / "{username}"),
            "proxy": str(proxy),
            "jupyter_path": place.env["JUPYTER_PATH"],
        }
        config.write_text(OVER.format(port=port, hub_port=hub_port, api_port=api_port, **values))
        place.give(folder)
        words = [place.python, "-m", "jupyterhub", "-f", config]
        self.process = place.start(*words, folder=folder, output=place.folder / "hub.log")

    def log(self):
        return (self.place.folder / "hub.log").read_text()

    def close(self):
        self.process.terminate()
        self.process.wait(STUCK_S)


@pytest.fixture(scope="module")
def place():
    with a_place("petri-hub") as found:
        for name in ("jupyterhub_config.py", "classroom_kernels.py"):
            shutil.copy(EXAMPLE / name, found.folder)
        yield found


@pytest.fixture(scope="module")
def hub(place, next_port):
    running = Hub(place, next_port)
    try:
        wait_for(lambda: request("GET", f"{running.url}/hub/api/"), running.process)
        yield running
    finally:
        running.close()
        print(running.log())


@pytest.fixture(scope="module")
def students(hub):
    """All of them at once, each with a server."""
    with ThreadPoolExecutor(len(STUDENTS)) as pool:
        yield list(pool.map(lambda name: Student(hub, name).start(), STUDENTS))


def test_configuration_of_the_course_has_no_name_that_jupyterhub_does_not_know(place):
    assert place.run(place.python, "-c", UNKNOWN, place.folder / "jupyterhub_config.py").strip() == "[]"


def test_students_are_offered_the_kernel_of_the_course_and_no_other_and_no_terminal(students):
    for student in students:
        specs = student.ask("GET", f"{student.server}/kernelspecs")
        assert list(specs["kernelspecs"]) == ["petri-classroom"] == [specs["default"]]
        with pytest.raises(urllib.error.HTTPError) as refused:
            student.ask("POST", f"{student.server}/terminals")
        assert refused.value.code == 404
        for name in ("python3", "petri"):  # both are installed
            with pytest.raises(urllib.error.HTTPError):
                student.ask("POST", f"{student.server}/kernels", name=name)
        assert student.ask("GET", f"{student.server}/kernels") == []


def test_each_student_works_on_the_data_and_keeps_a_session_of_their_own(students, place):
    table = str(place.data / "rides.csv")

    def lesson(student):
        student.open()
        return [
            student.run(f"import pandas as pd\nrides = pd.read_csv({table!r})\nmine = [{student.name!r}]\nlen(rides)"),
            student.run(f"open({table!r}, 'w')"),
            student.run(LOOP),
            student.run("mine, int(rides['minutes'].max()) > 0"),
        ]

    with ThreadPoolExecutor(len(students)) as pool:
        lessons = list(pool.map(lesson, students))
    for name, seen in zip(STUDENTS, lessons, strict=True):
        assert seen == ["554", "OSError", "CellCpuLimit", f"(['{name}'], True)"]


def test_student_has_no_way_to_another_ones_server(students):
    ada, ben = students
    with pytest.raises(urllib.error.HTTPError) as refused:
        ada.ask("GET", f"{ben.server}/kernels")
    assert refused.value.code == 403
