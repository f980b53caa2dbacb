"""A clean Debian, in a container or as a tree of its own: what is done there changes nothing else."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from podman import PODMAN, ULIMITS, clean_debian, reaching_registries

STUCK_S = 900  # apt fetches packages; not a measure of anything

LEFT_OUT = "/home /root /tmp /proc /sys /dev /packages /var/cache /var/lib/apt /var/lib/dpkg /var/log".split()

CELLS = [
    "x = iter([20, 22])\nnext(x)",
    "import os; os._exit(3)",
    "print(20 + next(x))",
    "import os; print(sorted(os.listdir('/home/ada')))",
    "import sys; print(sys.version.split()[0])",
]
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "execution_count": None, "id": f"cell{n}", "metadata": {}, "outputs": [], "source": code}
        for n, code in enumerate(CELLS)
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def outputs_of(notebook):
    """Of each cell: what it printed, or the name of its error."""
    return [
        "".join(output.get("ename") or "".join(output.get("text", "")) for output in cell["outputs"])
        for cell in json.loads(notebook)["cells"]
    ]


class Machine:
    """In a container, which is gone after close(); its commands fail a test where they fail."""

    def __init__(self, release, *packages):
        """release: of Debian; packages: files of this machine's, which are in /packages there."""
        tree = clean_debian(release)
        self.shown = tempfile.mkdtemp(prefix="packages-", dir=tree.parent)
        os.chmod(self.shown, 0o755)
        for package in packages:
            shutil.copy(package, self.shown)
        files, variables = reaching_registries()
        command = [
            *PODMAN, "run", "--detach", "--rm", "--network=host", *ULIMITS, "--security-opt=seccomp=unconfined",
            "--security-opt=unmask=ALL", f"--volume={self.shown}:/packages:ro", *files,
            *(f"--env={name}" for name in variables), "--rootfs", f"{tree}:O", "sleep", "infinity",
        ]  # fmt: skip
        self.id = subprocess.run(
            command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=STUCK_S, check=True
        ).stdout.strip()
        self.took = []  # of each step: its name and seconds
        try:
            self.run("useradd", "--create-home", "ada")
        except BaseException:
            self.close()
            raise

    def close(self):
        subprocess.run([*PODMAN, "rm", "--force", "--time=0", self.id], capture_output=True, check=True)
        shutil.rmtree(self.shown)

    @staticmethod
    def home(user):
        return "/root" if user == "root" else f"/home/{user}"

    def command(self, *words, user="root", folder=None):
        """What runs a command there, in the user's home or another folder."""
        home = self.home(user)
        become = [f"--user={user}", f"--workdir={folder or home}", f"--env=HOME={home}"]
        return [*PODMAN, "exec", "--interactive", *become, "--env=DEBIAN_FRONTEND=noninteractive", self.id, *words]

    def run(self, *command, ok=(0,), **where):
        """What it wrote to standard output."""
        done = subprocess.run(
            self.command(*command, **where),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=STUCK_S, check=False,
        )  # fmt: skip
        assert done.returncode in ok, f"{command}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def script(self, text, name, **where):
        """Runs a text of the shell's, as a step."""
        return self.step(name, "sh", "-ec", text, **where)

    def step(self, name, *command, **options):
        """The same, and how long it took is told at the end."""
        began = time.monotonic()
        out = self.run(*command, **options)
        self.took.append((name, time.monotonic() - began))
        return out

    def tell(self, record_property):
        """Notes how long the steps took, for the end of the tests."""
        for name, seconds in self.took:
            record_property(name, seconds)

    def write(self, path, text, user):
        command = self.command("tee", path, user=user)
        subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, timeout=STUCK_S, check=True)

    def put(self, root, names, folder):
        """Files and folders of this machine's, by their paths from root, below a folder there."""
        packed = subprocess.run(["tar", "-C", root, "-c", "--", *names], capture_output=True, check=True).stdout
        self.run("mkdir", "-p", folder)
        unpack = self.command("tar", "-x", "--no-same-owner", folder=folder)
        subprocess.run(unpack, input=packed, timeout=STUCK_S, check=True)

    def run_notebook(self, jupyter):
        """What the cells of NOTEBOOK put out, executed by ada with the kernel petri."""
        self.write("/home/ada/notebook.ipynb", json.dumps(NOTEBOOK), "ada")
        self.step(
            "a notebook, by nbconvert", jupyter, "nbconvert", "--to=notebook", "--execute", "--allow-errors",
            "--ExecutePreprocessor.kernel_name=petri", f"--ExecutePreprocessor.iopub_timeout={int(STUCK_S)}",
            "--output=done.ipynb", "notebook.ipynb", user="ada",
        )  # fmt: skip
        return outputs_of(self.run("cat", "/home/ada/done.ipynb"))

    def paths(self):
        """Every file and folder but those of users, and what apt, dpkg and ldconfig keep for themselves."""
        prune = [word for path in LEFT_OUT for word in ("-path", path, "-o")][:-1]
        return set(self.run("find", "/", "-xdev", "(", *prune, ")", "-prune", "-o", "-print").splitlines())


# The tree $0 becomes the root of a mount namespace, which has the machine's processes, devices and control groups, and
# a /dev/shm of its own, where kernels are listed.
ENTER = """
mount --bind "$0" "$0"
cd "$0"
for folder in proc sys dev; do mount --rbind /$folder $folder; done
mount -t tmpfs tmpfs dev/shm
mkdir -p mnt/machine
pivot_root . mnt/machine
umount -l /mnt/machine
echo up
exec sleep infinity
"""


class Root(Machine):
    """
    A clean Debian on the machine's own disk, whose root has all rights: what a container hasn't. Its files stay in
    the folder until the next one takes their place.
    """

    def __init__(self, release, folder, *packages):
        """packages: files of this machine's, which are in /packages there."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", clean_debian(release), folder], check=True)
        files, self.variables = reaching_registries()
        shown = [option.removeprefix("--volume=").split(":")[:2] for option in files]
        shown += [(package, f"/packages/{package.name}") for package in packages]
        shown += [(path, path) for path in ("/etc/hosts", "/etc/resolv.conf")]
        for ours, theirs in shown:
            target = folder / theirs.lstrip("/")
            target.parent.mkdir(exist_ok=True)
            shutil.copy(ours, target)
        enter = ["unshare", "--mount", "--propagation=private", "sh", "-ec", ENTER, folder]
        self.process = subprocess.Popen(enter, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "up\n"
        self.took = []
        self.run("useradd", "--create-home", "--shell=/bin/bash", "ada")

    def close(self):
        """Ends every process that has its files."""
        own = os.readlink(f"/proc/{self.process.pid}/ns/mnt")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/mnt") == own:
                    os.kill(int(pid), signal.SIGKILL)
        self.process.wait()

    def command(self, *words, user="root", folder=None):
        home = self.home(user)
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "sh", "-ec", 'cd "$0"; exec "$@"']
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        variables = {**self.variables, "PATH": path, "HOME": home, "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8"}
        env = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]
        return ["nsenter", f"--target={self.process.pid}", "--mount", *env, *become, folder or home, *words]
