"""Accounts of ordinary users for tests that run as root."""

import contextlib
import os
import pwd
import shutil
import subprocess

# As often as tests that make accounts may disturb a copy in a row.
COPIES = 10


@contextlib.contextmanager
def account(name):
    """An account without any rights, as pwd has it; root makes it, others are one."""
    if os.geteuid() != 0:
        yield pwd.getpwuid(os.geteuid())
        return
    name = f"{name}-{os.getpid()}"  # a killed run leaves its account behind, and another checkout has one, too
    subprocess.run(["useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", name], check=True)
    try:
        yield pwd.getpwnam(name)
    finally:
        subprocess.run(["userdel", name], check=True)


def copy_etc(folder):
    """Copies /etc to a folder that isn't there. Where a file has gone meanwhile, as those of useradd do, it begins anew."""
    for _ in range(COPIES):
        done = subprocess.run(["cp", "-a", "/etc", folder], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        shutil.rmtree(folder)
    raise AssertionError(done.stderr)
