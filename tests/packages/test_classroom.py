"""docs/classroom.md, followed from its top in a clean Debian: a student logs in and works."""

import contextlib
import subprocess
import urllib.error

import pytest

import commands
from conftest import ROOT
from hubs import PATIENT, Student, request, wait_for
from machine import Machine
from podman import need

pytestmark = pytest.mark.thorough

CHECKOUT = "/root/petri"
CONFIG = "examples/course/petri.json"
ACCOUNTS = "usermod --append --groups students ada; printf 'ada:of the account\\n' | chpasswd"


class Hub:
    """The JupyterHub that the page's last commands start. url: where students come to it, process: that of podman."""

    def __init__(self, machine, script, log, next_port):
        port, hub_port, api_port = next_port(), next_port(), next_port()
        self.url, self.log = f"http://127.0.0.1:{port}", log
        ports = f"--JupyterHub.bind_url={self.url} --JupyterHub.hub_port={hub_port}"
        ports += f" --ConfigurableHTTPProxy.api_url=http://127.0.0.1:{api_port}"
        script = commands.replaced(script, ("sudo ", ""), ("/opt/class/bin/jupyterhub ", f"/opt/class/bin/jupyterhub {ports} "))
        command = machine.command("sh", "-ec", script, folder=CHECKOUT)
        with open(log, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)


@pytest.fixture
def machine(wheel):
    need("mmdebstrap", "podman", "runc")
    with contextlib.closing(Machine("bookworm", wheel)) as machine:
        machine.put(ROOT, ["examples/course"], CHECKOUT)
        patient = commands.replaced((ROOT / CONFIG).read_text(), *PATIENT)
        machine.write(f"{CHECKOUT}/{CONFIG}", patient, "root")
        machine.run("install", "-D", f"/packages/{wheel.name}", f"{CHECKOUT}/build/wheel/{wheel.name}")
        yield machine


@pytest.fixture
def hub(machine, tmp_path, next_port):
    """What the page's commands make of a clean Debian."""
    install = commands.replaced(
        commands.sh("docs/classroom.md", "Install", 0),
        ("sudo ", ""), ("apt install", "apt install --yes --no-install-recommends"), ("make wheel\n", ""),
    )  # fmt: skip
    machine.step("apt-get update", "apt-get", "update")
    machine.script(install, "apt, npm and pip", folder=CHECKOUT)
    for script in (commands.sh("docs/classroom.md", "Install", 1), commands.sh("docs/classroom.md", "Install", 2)):
        machine.script(commands.replaced(script, ("sudo ", "")), script.splitlines()[0], folder=CHECKOUT)
    machine.run("sh", "-ec", ACCOUNTS)
    hub = Hub(machine, commands.sh("docs/classroom.md", "Install", 3), tmp_path / "hub.log", next_port)
    try:
        wait_for(lambda: request("GET", f"{hub.url}/hub/api/"), hub.process)
        yield hub
    finally:
        print(hub.log.read_text())


def test_classroom_as_its_page_has_it_installed_lets_a_student_log_in_and_work(machine, hub, record_property):
    with pytest.raises(urllib.error.HTTPError) as refused:
        Student(hub, "ada", "something else")
    assert refused.value.code == 403
    ada = Student(hub, "ada", "of the account").start()
    specs = ada.ask("GET", f"{ada.server}/kernelspecs")
    assert list(specs["kernelspecs"]) == ["petri-classroom"] == [specs["default"]]
    ada.open()
    assert ada.run("import pandas as pd\nlen(pd.read_csv('/srv/class/data/rides.csv'))") == "554"
    assert ada.run("while True: pass") == "CellCpuLimit"
    assert ada.run("pd.__name__") == "'pandas'"
    machine.step("petri doctor", "/opt/class/bin/petri", "doctor", user="ada", ok=(0, 1))
    machine.tell(record_property)
