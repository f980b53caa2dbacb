"""podman as root has it here, and a clean Debian for it: of tests/e2e/test_container*.py and tests/packages."""

import os
import pathlib
import resource
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("PETRI_BUILD", pathlib.Path(__file__).resolve().parents[1] / "build"))
TREE_S = 900  # apt fetches packages; not a measure of anything

REGISTRIES = ("pip_", "npm_config_", "http_proxy", "https_proxy", "no_proxy")
PODMAN = ("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs")
MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
ULIMITS = (f"--ulimit=nofile={MOST_FILES}:{MOST_FILES}", "--ulimit=nproc=4096:4096")


def give_up(why):
    """Skips a test that can't run here; with PETRI_REQUIRE_LIVE it fails."""
    (pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" else pytest.skip)(why)


def need(*programs):
    """Gives up where programs or root's rights are missing."""
    if os.geteuid() != 0:
        give_up("it takes root to make a container")
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        give_up(f"missing: {', '.join(missing)}")


def reaching_registries():
    """
    What pip, uv and npm need in a container to reach what they reach here: podman's options for the files, and the
    values of variables by their names.
    """
    variables = {name: value for name, value in os.environ.items() if name.lower().startswith(REGISTRIES)}
    if certificate := os.environ.get("PIP_CERT"):
        variables |= dict.fromkeys(("PIP_CERT", "NODE_EXTRA_CA_CERTS"), "/settings/cert.pem")
        return [f"--volume={certificate}:/settings/cert.pem:ro"], variables
    return [], variables


def clean_debian(release):
    """The folder of a Debian with what it can't do without: made once, in build/packages/RELEASE/tree."""
    folder = BUILD / "packages" / release
    maker = pathlib.Path(__file__).with_name("debian_tree.sh")
    subprocess.run([maker, folder, release], timeout=TREE_S, check=True)
    return folder / "tree"
