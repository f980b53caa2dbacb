"""A clean Debian 12 in a container: what is done there is gone with it."""

import resource
import subprocess
import time

STUCK_S = 900  # apt fetches packages; not a measure of anything

LEFT_OUT = "/home /root /tmp /proc /sys /dev /packages /var/cache /var/lib/apt /var/lib/dpkg /var/log".split()

PODMAN = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs"]


class Machine:
    """It can be used until close(); its commands fail a test where they fail."""

    def __init__(self, tree, packages):
        """packages: a folder of this machine's, which is /packages there."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        command = [
            *PODMAN, "run", "--detach", "--rm", "--network=host", f"--ulimit=nofile={most}:{most}",
            "--ulimit=nproc=4096:4096", "--security-opt=seccomp=unconfined", "--security-opt=unmask=ALL",
            f"--volume={packages}:/packages:ro", "--rootfs", f"{tree}:O", "sleep", "infinity",
        ]  # fmt: skip
        self.id = subprocess.run(command, capture_output=True, text=True, timeout=STUCK_S, check=True).stdout.strip()
        self.took = []  # of each step: its name and seconds

    def close(self):
        subprocess.run([*PODMAN, "rm", "--force", "--time=0", self.id], capture_output=True, check=True)

    def run(self, *command, user="root", ok=(0,)):
        """What it wrote to standard output."""
        home = "/root" if user == "root" else f"/home/{user}"
        become = [f"--user={user}", f"--workdir={home}", f"--env=HOME={home}", "--env=DEBIAN_FRONTEND=noninteractive"]
        done = subprocess.run(
            [*PODMAN, "exec", *become, self.id, *command], capture_output=True, text=True, timeout=STUCK_S, check=False
        )
        assert done.returncode in ok, f"{command}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def step(self, name, *command, **options):
        """The same, and how long it took is told at the end."""
        began = time.monotonic()
        out = self.run(*command, **options)
        self.took.append((name, time.monotonic() - began))
        return out

    def write(self, path, text, user):
        command = [*PODMAN, "exec", "--interactive", f"--user={user}", self.id, "tee", path]
        subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, timeout=STUCK_S, check=True)

    def paths(self):
        """Every file and folder but those of users, and what apt, dpkg and ldconfig keep for themselves."""
        prune = [word for path in LEFT_OUT for word in ("-path", path, "-o")][:-1]
        return set(self.run("find", "/", "-xdev", "(", *prune, ")", "-prune", "-o", "-print").splitlines())
