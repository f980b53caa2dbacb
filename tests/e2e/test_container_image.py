"""The image of containers/Containerfile, built and run by podman with the commands of docs/containers.md.

Its base image is made here, of a clean Debian, for there may be no registry of images to pull from. That one stays in
podman's storage; of the other nothing is left.
"""

import configparser
import json
import pathlib
import re
import shlex
import subprocess

import pytest

import commands
from kernels import ROOT, STUCK_S
from podman import PODMAN, ULIMITS, clean_debian, need, reaching_registries

pytestmark = pytest.mark.thorough

BASE, IMAGE, VOLUME = "localhost/petri-test-base", "localhost/petri-test", "petri-test-notebooks"
BUILD_S = 1800
BUILD, RUN = commands.lines(commands.sh("docs/containers.md", "An image"))

APT_SETTINGS = pathlib.Path("/etc/apt/apt.conf.d")
PIP_SETTINGS = pathlib.Path("/etc/pip.conf")

# In the image: what JupyterLab's server says, and what the cells of a notebook print.
ASK = """
import json, sys, urllib.request
import nbclient, nbformat

with urllib.request.urlopen(f"http://127.0.0.1:8888/api/kernelspecs?token={sys.argv[1]}") as answer:
    specs = json.load(answer)
codes = ["import os; x = os.getuid(); open('made.txt', 'w').write('made')", "print(x, open('made.txt').read())"]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
nbclient.NotebookClient(notebook, kernel_name=specs["default"], iopub_timeout=300).execute()
print(json.dumps([specs["default"], sorted(specs["kernelspecs"]), notebook.cells[1].outputs[0].text]))
"""


def run(*command, **options):
    """What it wrote to standard output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S, check=False, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def base():
    """The name of the image of a Debian 12 that is made as it is now."""
    tree = clean_debian("bookworm")
    name = f"{BASE}:{(tree.parent / 'recipe').read_text()[:12]}"
    if subprocess.run([*PODMAN, "image", "exists", name], check=False).returncode != 0:
        packed = subprocess.Popen(["tar", "-C", tree, "-c", "."], stdout=subprocess.PIPE)
        run(*PODMAN, "import", "-", name, stdin=packed.stdout)
        assert packed.wait() == 0
    return name


def settings(folder):
    """podman's options by which apt and pip reach their registries as here. The build needs them, the image doesn't."""
    files, variables = reaching_registries()
    pip = configparser.RawConfigParser()
    pip.read_dict({"global": {}})
    pip.read(PIP_SETTINGS)
    for name, value in variables.items():
        if name.startswith("PIP_"):
            pip["global"][name.removeprefix("PIP_").lower().replace("_", "-")] = value
    with open(folder / "pip.conf", "w", encoding="utf-8") as file:
        pip.write(file)
    apt = [f"--volume={APT_SETTINGS}:{APT_SETTINGS}:ro"] if APT_SETTINGS.exists() else []
    return [*apt, *files, f"--volume={folder / 'pip.conf'}:{PIP_SETTINGS}:ro"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The image's name, while there is one."""
    need("podman", "runc", "mmdebstrap")
    build = [
        *PODMAN, "build", "--isolation=chroot", "--layers=false", "--force-rm", "--network=host", *ULIMITS,
        *settings(tmp_path_factory.mktemp("settings")), f"--build-arg=BASE={base()}",
    ]  # fmt: skip
    own = ("podman build", shlex.join(build)), ("--tag petri ", f"--tag {IMAGE} ")
    run("sh", "-ec", commands.replaced(BUILD, *own), cwd=ROOT)
    yield IMAGE
    run(*PODMAN, "rmi", IMAGE)


@pytest.fixture(scope="module")
def lab(shared):
    """The container that the page has started: its id."""
    start = [*PODMAN, "run", "--detach", "--log-driver=k8s-file", "--network=none", *ULIMITS]
    own = ("podman run", shlex.join(start)), ("--publish 127.0.0.1:8888:8888 ", ""), ("notebooks:/", f"{VOLUME}:/")
    script = commands.replaced(RUN, *own)
    assert script.endswith(" petri")
    container = run("sh", "-ec", script.removesuffix("petri") + shared, cwd=ROOT).strip()
    yield container
    run(*PODMAN, "rm", "--force", "--time=0", container)
    run(*PODMAN, "volume", "rm", VOLUME)


def token(container):
    """That of the address which JupyterLab prints."""
    command = ["timeout", str(STUCK_S), *PODMAN, "logs", "--follow", container]
    printed = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as logs:
        for line in logs.stdout:
            printed.append(line)
            if found := re.search(r"http://127\.0\.0\.1:8888/lab\?token=(\w+)", line):
                logs.terminate()
                return found[1]
    raise AssertionError("".join(printed))


def test_image_has_an_ordinary_user_and_a_volume_for_notebooks(shared):
    config = json.loads(run(*PODMAN, "image", "inspect", shared))[0]["Config"]
    assert (config["User"], list(config["Volumes"])) == ("1000:1000", ["/home/jovyan/notebooks"])


def test_jupyterlab_of_the_image_offers_petri_alone_and_runs_a_notebook(lab):
    printed = run(*PODMAN, "exec", "--interactive", lab, "python", "-", token(lab), input=ASK)
    assert json.loads(printed) == ["petri", ["petri", "petri-strict", "petri-writable"], "1000 made\n"]


def test_doctor_of_the_image_finds_nothing_missing_but_groups(lab):
    done = subprocess.run(
        [*PODMAN, "exec", lab, "petri", "doctor", "--json"], capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    assert done.stdout, done.stderr
    rows = json.loads(done.stdout)["probes"]
    assert {row["probe"] for row in rows if row["finding"] != "good"} <= {"cgroup"}, rows
    assert [row["text"] for row in rows if row["probe"] == "container"] == ["this is podman."]
