"""Accounts of ordinary users for tests that run as root."""

import contextlib
import os
import pwd
import subprocess


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
