"""Does what `petri doctor --json` tells the administrator of this machine to do: its report comes on standard input.

What fails is told in a line that golden.py finds. A command without sudo only looks: for whoever reads what it prints.
"""

import json
import pathlib
import subprocess
import sys

ADMINISTRATOR = "the administrator of this machine"

for remedy in json.load(sys.stdin)["remedies"]:
    if remedy["who"] != ADMINISTRATOR:
        continue
    if file := remedy.get("file"):
        path = pathlib.Path(file["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"])
    for command in remedy.get("commands", []):
        done = subprocess.run(["sh", "-c", command.removeprefix("sudo ")], check=False, capture_output=True, text=True)
        if done.returncode and command.startswith("sudo "):
            print(f"petri-doctor: failed: {command}: exit {done.returncode}: {done.stdout}{done.stderr}")
