"""Fixtures: the packages, built once from this checkout."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PETRI_BUILD", ROOT / "build"))


@pytest.fixture(scope="session")
def wheel():
    """The wheel, as scripts/wheel.sh makes it."""
    subprocess.run([ROOT / "scripts" / "wheel.sh"], check=True)
    [path] = BUILD.glob("wheel/petri_kernel-*.whl")
    return path
