"""Programs that a cell runs by a command: what they write is the cell's output, piece by piece, as if the cell printed it."""

import codecs
import os
import selectors
import shutil
import subprocess

_PIECE = 1 << 16


def shell():
    """The shell for commands: $SHELL, as in every notebook; where there is no such program, sh."""
    return shutil.which(os.environ.get("SHELL", "")) or "/bin/sh"


def run(command, out, err=None, text=None, stdin=None):
    """
    Runs a program until it ends; what it has left in the background is not waited for.

    command: its arguments, a list of str.
    out, err: called with each piece of text that it writes; without err its two outputs are one.
    text: bytes for its standard input; without it, stdin is as subprocess takes it.
    Returns its exit status, as Popen.returncode. Interrupted, it kills the program first.
    """
    with subprocess.Popen(
        command,
        bufsize=0,
        stdin=stdin if text is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if err else subprocess.STDOUT,
    ) as process:
        try:
            _pump(process, out, err, text)
        except BaseException:
            process.kill()
            raise
    return process.returncode


def _pump(process, out, err, text):
    """Carries text in and output out until the program has ended, or both its outputs have."""
    readers = {process.stdout.fileno(): _Reader(process.stdout, out)}
    if err:
        readers[process.stderr.fileno()] = _Reader(process.stderr, err)
    ended = os.pidfd_open(process.pid)
    try:
        with selectors.PollSelector() as selector:
            for fd in (*readers, ended):
                selector.register(fd, selectors.EVENT_READ)
            if text is not None:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE)
            while readers:
                ready = [key.fd for key, _ in selector.select()]
                if text is not None and process.stdin.fileno() in ready:
                    text = _give(process.stdin, text, selector)
                for fd in ready:
                    if fd in readers and not readers[fd].read():
                        selector.unregister(fd)
                        del readers[fd]
                if ended in ready:
                    break
            for reader in readers.values():
                reader.read_rest()
    finally:
        os.close(ended)


def _give(stdin, text, selector):
    """Writes what fits; returns the rest, or None when nothing more is to be written."""
    try:
        text = text[os.write(stdin.fileno(), text[:_PIECE]) :]
    except BrokenPipeError:
        text = b""  # it has closed its standard input
    if text:
        return text
    selector.unregister(stdin)
    stdin.close()
    return None


class _Reader:
    """One output of a program."""

    def __init__(self, file, handle):
        self._fd, self._handle = file.fileno(), handle
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self):
        """Hands on what is there; returns whether there may be more."""
        piece = os.read(self._fd, _PIECE)
        text = self._decoder.decode(piece, final=not piece)
        if text:
            self._handle(text)
        return bool(piece)

    def read_rest(self):
        """Hands on what the program has written before it ended, though others may still hold its output."""
        os.set_blocking(self._fd, False)
        try:
            while self.read():
                pass
        except BlockingIOError:
            self._handle(self._decoder.decode(b"", final=True))
