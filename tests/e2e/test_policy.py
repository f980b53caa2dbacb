"""What the operator's configuration decides: refused code, folders to read, and which packages there are."""

import json
import os

import pytest


@pytest.fixture
def configure(tmp_path, monkeypatch):
    """Writes the configuration of the kernels of one test."""

    def write(**config):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        folder = tmp_path / "config" / "petri"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config))

    return write


def test_code_that_is_refused_says_where_and_does_not_run(configure, start):
    configure(refuse={"imports": ["socket", "urllib.request"], "patterns": ["rm -rf", "\\beval\\("]})
    kernel = start()
    rows = [
        ("ran = 1\nimport socket", 2, "line 2 imports socket"),
        ("ran = 1\nif True:\n    from urllib import request", 3, "line 3 imports urllib.request"),
        ("%%limits timeout=3s\nran = 1\nfrom socket import socket as s", 3, "line 3 imports socket"),
        ("ran = 1\n!rm -rf /tmp/x", 2, "it matches rm -rf"),
        ("ran = eval('1')", 1, "it matches \\beval\\("),
    ]
    for code, line, why in rows:
        cell = kernel.ask(code, {})
        assert cell.ename == "CellRefused" and why in cell.reply["evalue"], code
        assert cell.report["outcome"] == "refused" and cell.report["error"]["line"] == line, code
    assert kernel.run("ran").ename == "NameError"
    assert kernel.value("import urllib.parse, os\n'import socket' and 6 * 7") == "42"


def test_folders_of_the_configuration_can_be_read_and_not_written(configure, start, tmp_path, tmp_path_factory):
    data = tmp_path_factory.mktemp("inputs")
    (data / "table.csv").write_text("a,b\n")
    os.chmod(data, 0o755)
    os.chmod(data.parent, 0o755)
    configure(inputs=[str(data)])
    kernel = start()
    assert kernel.value(f"open('{data}/table.csv').read()") == "'a,b\\n'"
    assert kernel.run(f"open('{data}/new', 'w')").ename in ("OSError", "PermissionError")
    assert not (data / "new").exists()
