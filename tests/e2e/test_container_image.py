"""The image of containers/Containerfile, built and run by podman.

Its base image is made here, of Debian's packages, for there may be no registry of images to pull from. That one stays in
podman's storage; of the other nothing is left.
"""

import json
import os
import pathlib
import resource
import shutil
import subprocess

import pytest

from containers import OPTIONS, PODMAN, ULIMITS, give_up, need_podman
from kernels import BUILD, ROOT, STUCK_S

pytestmark = pytest.mark.thorough

BASE, IMAGE = "localhost/petri-test-base", "localhost/petri-test"
BUILD_S = 1800

# What the machine says about the way to the registries of packages: the build needs it, and the image does not.
FILES = ["/etc/apt/apt.conf.d", "/etc/ssl/certs", "/etc/pip.conf"]
VARIABLES = ["SSL_CERT_FILE", "PIP_CERT", "PIP_INDEX_URL", "https_proxy", "http_proxy", "no_proxy"]

# In the image: JupyterLab is started; and what its server says, and what the cells of a notebook print.
LAB = "jupyter lab --no-browser --IdentityProvider.token=known >/tmp/lab.log 2>&1 & python - || tail /tmp/lab.log >&2"
ASK = f"""
import json, time, urllib.request
import nbclient, nbformat

def ask_until(end):
    while True:
        try:
            with urllib.request.urlopen("http://127.0.0.1:8888/api/kernelspecs?token=known") as answer:
                return json.load(answer)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)

specs = ask_until(time.monotonic() + {STUCK_S})
codes = ["import os; x = os.getuid(); open('made.txt', 'w').write('made')", "print(x, open('made.txt').read())"]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
nbclient.NotebookClient(notebook, kernel_name=specs["default"]).execute()
print(json.dumps([specs["default"], sorted(specs["kernelspecs"]), notebook.cells[1].outputs[0].text]))
"""


def make_base():
    """A Debian 12 as small as the one that the Containerfile names, as an image."""
    if subprocess.run([*PODMAN, "image", "exists", BASE], check=False).returncode == 0:
        return
    tree = BUILD / "container-base"
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run(
        ["mmdebstrap", "--mode=root", "--variant=minbase", "--format=directory", "--include=ca-certificates",
         "--dpkgopt=force-unsafe-io", "bookworm", tree, "deb http://deb.debian.org/debian bookworm main"],
        check=True, capture_output=True, timeout=BUILD_S,
    )  # fmt: skip
    packed = subprocess.Popen(["tar", "-C", tree, "-c", "."], stdout=subprocess.PIPE)
    subprocess.run([*PODMAN, "import", "-", BASE], stdin=packed.stdout, check=True, capture_output=True)
    assert packed.wait() == 0
    shutil.rmtree(tree)


@pytest.fixture(scope="module")
def shared():
    """The image's name, while there is one."""
    need_podman()
    if not shutil.which("mmdebstrap"):
        give_up("it takes mmdebstrap to make the base image")
    make_base()
    files = [path for path in [*FILES, *map(os.environ.get, VARIABLES)] if path and pathlib.Path(path).exists()]
    done = subprocess.run(
        [*PODMAN, "build", "--isolation=chroot", "--layers=false", "--force-rm", "--network=host", *ULIMITS,
         *(f"--volume={path}:{path}:ro" for path in files),
         *(f"--{option}={name}" for name in VARIABLES if name in os.environ for option in ("env", "unsetenv")),
         f"--build-arg=BASE={BASE}", f"--file={ROOT}/containers/Containerfile", f"--tag={IMAGE}", ROOT],
        capture_output=True, text=True, timeout=BUILD_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    yield IMAGE
    subprocess.run([*PODMAN, "rmi", IMAGE], check=True, capture_output=True)


def run_image(image, program, code=None, *options):
    least = ["--cap-drop=all", "--security-opt=no-new-privileges"]
    return subprocess.run(
        [*PODMAN, "run", "--rm", "--interactive", "--network=none", *ULIMITS, *OPTIONS, *least, image, *program],
        input=code, capture_output=True, text=True, timeout=2 * STUCK_S, check=False,
    )  # fmt: skip


def test_image_has_an_ordinary_user_and_a_volume_for_notebooks(shared):
    done = subprocess.run([*PODMAN, "image", "inspect", shared], capture_output=True, text=True, check=True)
    config = json.loads(done.stdout)[0]["Config"]
    assert (config["User"], list(config["Volumes"])) == ("1000:1000", ["/home/jovyan/notebooks"])


def test_jupyterlab_of_the_image_offers_petri_alone_and_runs_a_notebook(shared):
    done = run_image(shared, ["sh", "-c", LAB], ASK)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == ["petri", ["petri", "petri-strict", "petri-writable"], "1000 made\n"]


def test_doctor_of_the_image_finds_nothing_missing_but_groups(shared):
    rows = json.loads(run_image(shared, ["petri", "doctor", "--json"]).stdout)["probes"]
    assert {row["probe"] for row in rows if row["finding"] != "good"} <= {"cgroup"}, rows
    assert [row["text"] for row in rows if row["probe"] == "container"] == ["this is podman."]
