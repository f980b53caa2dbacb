"""Cells that import what is refused: they don't run, and the answer says what and where."""

import pytest

# What a cell has, what is refused of it, and which module and line the answer names.
REFUSED = [
    ("import os", "os", "os", 1),
    ("import os.path as p, sys , re", "os", "os.path", 1),
    ("import os.path as p, sys , re", "re", "re", 1),
    ("x = 1\nif x:\n  import a . b\n", "a.b", "a.b", 3),
    ("from urllib import request, parse as p", "urllib.parse", "urllib.parse", 1),
    ("from urllib import request, parse as p", "urllib", "urllib", 1),
    ("from a.b import (c,\n  d, # import e\n)\nimport f", "a.b.d", "a.b.d", 1),
    ("from a.b import (c,\n  d, # import e\n)\nimport f", "f", "f", 4),
    ("from a \\\n import b", "a.b", "a.b", 1),
    ("from os import *", "os", "os", 1),
    ("if x: import os; import sys", "sys", "sys", 1),
    ("try:\n    import ssl\nexcept ImportError: pass", "ssl", "ssl", 2),
    ("import \u00e4", "\u00e4", "\u00e4", 1),
    ("'''a\n'''; import os", "os", "os", 2),
    ("def f():\n    async def g():\n        from os import path\n", "os.path", "os.path", 3),
    ("await f()\nimport os", "os", "os", 2),
    ("return\nimport os", "os", "os", 2),
    # what IPython makes of a cell, and the line as it was written
    ("\n\n  \nimport os", "os", "os", 4),
    ("!ls \\\n  -l\n%cd \\\n .\nimport os", "os", "os", 5),
    ("  x = 1\n  import os", "os", "os", 2),
    ("x = !ls\nx?\nimport os # 'os'", "os", "os", 3),
    ("%%time\nimport os", "os", "os", 2),
    ("\n%%capture out\n\n%%timeit -n 1\n\n!ls\nimport os", "os", "os", 7),
    ("%%prun\nx = 1\nimport os\n", "os", "os", 3),
    # the first of several
    ("x = 1\ndef f():\n    import sys\nimport os", "os sys", "sys", 3),
    ("import os\nimport " + "a" * 300 + "\nimport sys", "a" * 300, "a" * 255, 2),
]

# What is no import of what is refused, or not seen.
NOT_REFUSED = [
    ("import osmium", "os"),
    ("from urllib import parse", "urllib.request"),
    ("from . import os\nfrom .os import b", "os"),
    ("# import os\n'import os'\n'''\nimport os\n'''", "os"),
    ("f(\nimport os\n)", "os"),
    ("important = 1\nimport_os = 2\nfrom_ = 1", "os"),
    ("x = {'a': 1}\ndel x", "os"),
    ("", "os"),
    ("import", "os"),
    ("from", "os"),
    ("from os", "os"),
    ("import os\nimport", "os"),
    ("%%bash\nimport os", "os"),
    ("%%writefile /dev/null\nimport os", "os"),
    ("%%time\n%%bash\nimport os", "os"),
    ("__import__('os')", "os"),
    ("exec('import os')", "os"),
    ("%time import os", "os"),
    ("(" * 5000 + ")" * 5000, "os"),
    ("import os\x00", "os"),
    ("import os\ud800", "os"),
    ("import os", "pathlib"),
]


@pytest.mark.parametrize(("code", "refused", "module", "line"), REFUSED)
def test_refused_import_is_answered_with_module_and_line(worker, code, refused, module, line):
    answer = worker.execute(code, refuse=refused.split())
    assert answer.reply == {"status": "refused", "module": module, "line": line}
    assert answer.events == []


@pytest.mark.parametrize(("code", "refused"), NOT_REFUSED)
def test_code_without_a_refused_import_runs(worker, code, refused):
    answer = worker.execute(code, refuse=refused.split())
    plain = worker.execute(code).reply
    assert answer.reply["status"] in ("ok", "error")
    assert answer.reply.get("ename") == plain.get("ename")


def test_nothing_of_a_refused_cell_runs(worker):
    worker.execute("print(1)\nran = 1\nif False:\n    import os", refuse=["os"], user_expressions={"a": "print(2)"})
    assert worker.execute("ran").reply["ename"] == "NameError"


def test_without_a_list_everything_can_be_imported(worker):
    assert worker.execute("import os").reply["status"] == "ok"
    assert worker.execute("import os", refuse=[]).reply["status"] == "ok"


def test_warnings_of_the_code_are_as_often_as_without_a_list(worker):
    code = "import warnings\nwarnings.simplefilter('always')\nwarnings is 1, len('\\d')"
    worker.execute(code)
    warnings = worker.execute(code).stderr.count("Warning")
    assert warnings > 0
    assert worker.execute(code, refuse=["os"]).stderr.count("Warning") == warnings
    worker.execute("warnings.resetwarnings()")


def test_code_is_transformed_once(worker):
    """A transformer of the user's may count."""
    worker.execute("seen = []\nget_ipython().input_transformers_post.append(lambda lines: seen.append(1) or lines)")
    worker.execute("seen.clear()")
    assert worker.execute("len(seen)", refuse=["os"]).result == "1"
    worker.execute("get_ipython().input_transformers_post.pop()")
