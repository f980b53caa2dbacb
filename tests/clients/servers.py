"""A Jupyter server of a test's own: on the loopback, on a port that is free, with a token."""

import contextlib
import re
import secrets
import subprocess
import sys
import threading

from kernels import STUCK_S

_RUNNING = re.compile(r"(http://127\.0\.0\.1:\d+)/")


class Server:
    """A running server. url, token: as a client needs them."""

    def __init__(self, jupyter, folder, program="jupyter_server"):
        self.token = secrets.token_hex(16)
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": 0,
            "ServerApp.open_browser": False,
            "ServerApp.root_dir": folder,
            "IdentityProvider.token": self.token,
            "LabApp.expose_app_in_browser": True,
            "LabApp.extension_manager": "readonly",
        }
        arguments = [f"--{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-m", program, "--allow-root", *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, env=jupyter.whole_env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines = []
        self._up = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            found = _RUNNING.search(line)
            if found and not self._up.is_set():
                self.url = found[1]
                self._up.set()
        self._up.set()

    def wait_until_up(self):
        assert self._up.wait(STUCK_S) and self.process.poll() is None, self.log
        return self

    @property
    def log(self):
        return "".join(self.lines)

    def close(self):
        self.process.terminate()
        self.process.wait(STUCK_S)
        self._reader.join()
        self.process.stdout.close()


@contextlib.contextmanager
def serving(jupyter, folder, program="jupyter_server"):
    """A server for `folder`, ended with the block. program: a module, jupyter_server or jupyterlab."""
    server = Server(jupyter, folder, program)
    try:
        yield server.wait_until_up()
    finally:
        server.close()
