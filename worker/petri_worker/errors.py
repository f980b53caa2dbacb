"""An exception as Jupyter has it, also if its class fails to give its text, and the traceback that users see."""

import os

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep

# What is shown of an error's text, and of all the lines of its traceback: a page that has to be read.
TEXT_CHARS = 1 << 16
LINES_CHARS = 1 << 19
ENDS = 4


def describe(error, traceback=None, kind=None):
    """{ename, evalue, traceback}; the traceback is one line where none is given."""
    name = (kind or type(error)).__name__
    try:
        text = _cut(str(error))
    except Exception as second:
        text = f"<{type(second).__name__} while its text was made>"
    lines = [f"{name}: {text}"] if traceback is None else _cut_lines([_cut(str(line)) for line in traceback])
    return {"ename": name, "evalue": text, "traceback": lines}


def _cut(text):
    left_out = len(text) - TEXT_CHARS
    return text if left_out <= 0 else f"{text[:TEXT_CHARS]}… ({left_out:,} more characters)"


def _cut_lines(lines):
    """The first and the last lines where all of them are too much."""
    if len(lines) <= 2 * ENDS or sum(map(len, lines)) <= LINES_CHARS:
        return lines
    return [*lines[:ENDS], f"… ({len(lines) - 2 * ENDS:,} more frames)", *lines[-ENDS:]]


def cut_own_frames(traceback):
    """
    Cuts our own frames out of a traceback, in place, but for the first one:
    the places in the worker where an interrupt was noticed, a question refused, or a magic handed on don't help a user
    who looks for the own line.
    """
    while traceback is not None:
        inner = traceback.tb_next
        while inner is not None and inner.tb_frame.f_code.co_filename.startswith(_FOLDER):
            inner = inner.tb_next
        traceback.tb_next = inner
        traceback = inner
