"""Programs of this folder that node runs, with what scripts/node.sh has fetched."""

import json
import os
import pathlib
import subprocess

from jupyters import CLIENTS
from kernels import STUCK_S

HERE = pathlib.Path(__file__).resolve().parent


def run_node(program, *arguments):
    """Runs a program of this folder; returns what its last line of output says, which is JSON."""
    env = {**os.environ, "NODE_PATH": str(CLIENTS / "node" / "node_modules"), "PETRI_STUCK_S": str(STUCK_S)}
    command = ["node", str(HERE / program), *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=2 * STUCK_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])
