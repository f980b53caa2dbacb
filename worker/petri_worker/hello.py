"""
The first frame, written with nothing imported: see "The life of a worker" in
docs/worker-wire.md. What it says is the kernel_info_reply's language_info.

See: Jupyter messaging, "Kernel info".
"""

import os
import sys

CONTROL_FD = 3

_FRAME = (
    '{"type":"hello","language_info":{"name":"python","version":"%(version)s","mimetype":"text/x-python",'
    '"file_extension":".py","pygments_lexer":"ipython3","codemirror_mode":{"name":"ipython","version":3},'
    '"nbconvert_exporter":"python"},"banner":"Python %(version)s in petri: every cell in a fresh sandbox."}'
)


def text():
    """The frame's JSON."""
    # json is not imported yet: a version has no character that JSON would escape.
    return (_FRAME % {"version": sys.version.split()[0]}).encode("ascii")


def send():
    """Sends `hello`. It is far smaller than any socket's buffer, so one write takes it whole."""
    frame = text()
    os.write(CONTROL_FD, len(frame).to_bytes(4, "little") + bytes(4) + frame)
