"""The command petri of an environment: becomes the program beside this package, for the environment's interpreter.

A package of its own, because petri_kernel takes longer to import than a kernel needs to start; and a folder, because uv
would leave what Python compiles of a single module.
"""

import os
import signal
import sys


def main() -> None:
    """Does not return. The entry point of the distribution, for which pip writes ENVIRONMENT/bin/petri."""
    program = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "petri_kernel", "bin", "petri")
    os.environ["PETRI_PYTHON"] = sys.executable
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and exec would pass that on
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(program, ["petri", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"petri: {program}: {error.strerror}; install petri-kernel anew")
