"""Environment variables that the configuration or %env sets: cells have them, and no record has their values."""

import json
import subprocess

import pytest

from kernels import PETRI

VALUE = "mauve-Giraffe 17"
OTHER = "teal-Ocelot 23"


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """All that the kernels of one test leave on the disk beside the notebook."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def read():
        return b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())

    return read


def listed(kernel, name):
    """What %env shows of a variable where it lists all."""
    return kernel.value(f"get_ipython().run_line_magic('env', '')[{name!r}]").strip("'")


def test_variables_of_the_configuration_are_set_in_cells_and_not_recorded(stored, configure, start, monkeypatch):
    monkeypatch.setenv("PASSED_ON", OTHER)
    monkeypatch.setenv("NOT_NAMED", "x" * 20)
    configure(variables={"GIVEN": VALUE, "PASSED_ON": True, "NOT_THERE": True, "LANG": "C"})
    kernel = start()
    code = "import os\nfor name in 'GIVEN', 'PASSED_ON', 'NOT_THERE', 'NOT_NAMED', 'LANG':\n    print(os.environ.get(name))"
    assert kernel.good(code).stdout.splitlines() == [VALUE, OTHER, "None", "None", "C"]
    assert kernel.value("!echo $GIVEN") == f"['{VALUE}']" or VALUE in str(kernel.run("!echo $GIVEN"))
    assert listed(kernel, "GIVEN") == listed(kernel, "PASSED_ON") == "<hidden>"
    assert kernel.value("'PETRI_VARIABLES' in os.environ") == "False"
    kernel.run(f"raise ValueError('{VALUE}')")
    kernel.close()
    assert b"[redacted: variable GIVEN]" in stored() and b"[redacted: variable PASSED_ON]" in stored()
    assert VALUE.encode() not in stored() and OTHER.encode() not in stored()


def test_variables_of_the_configuration_are_not_given_to_strict(stored, configure, start):
    configure(variables={"GIVEN": VALUE})
    kernel = start(name="petri-strict")
    cell = kernel.run("import os; os.environ['GIVEN']")
    assert cell.ename == "KeyError" and "configuration" not in "".join(cell.reply["traceback"])


def test_error_names_the_configuration_where_it_would_help(start):
    cell = start().run("import os; os.environ['GIVEN']")
    assert 'and "variables" in the configuration for each' in cell.reply["traceback"][-1]


def test_variables_that_a_cell_sets_are_kept_and_not_recorded(stored, start):
    kernel = start()
    cell = kernel.good(f"%env FIRST={VALUE}")
    assert cell.stdout == "env: FIRST=<hidden>\n"
    kernel.good(f"half = {OTHER[:7]!r}")
    kernel.good(f"%env SECOND={{half}}{OTHER[7:]}")  # it stands nowhere in the code
    assert kernel.value("%env SECOND") == repr(OTHER)
    assert listed(kernel, "FIRST") == "<hidden>"
    assert kernel.value("os.environ['FIRST'] if (os := __import__('os')) else 0") == repr(VALUE)
    kernel.run("%%limits timeout=300ms\nprint(os.environ['FIRST'], os.environ['SECOND'], flush=True)\nwhile True: pass")
    kernel.close()
    assert VALUE.encode() not in stored() and OTHER.encode() not in stored()
    assert b"[redacted: variable SECOND]" in stored()


@pytest.mark.parametrize(
    "code",
    [
        f"1 / 0\n%env KEEP={VALUE}",
        f"%%limits timeout=300ms\nwhile True: pass\n%env KEEP={VALUE}",
        f"import os; os._exit(1)\n%set_env KEEP {VALUE}",
        f"%env KEEP={VALUE}\nx = (",
        f"print('{VALUE}')\n%env KEEP={VALUE}\n1 / 0",
    ],
)
def test_value_in_code_that_never_set_it_is_not_recorded(stored, start, code):
    kernel = start()
    kernel.run(code)
    kernel.run("1")
    kernel.close()
    assert b"[redacted: variable" in stored() and VALUE.encode() not in stored()


def test_short_value_is_taken_out_of_the_line_that_sets_it(stored, start):
    kernel = start()
    kernel.good("%env PIN=48151")
    kernel.good("%env PIN2 62342")
    kernel.close()
    assert b"48151" not in stored() and b"62342" not in stored()


def test_cell_that_loses_its_variable_says_how_it_was(start):
    kernel = start()
    kernel.good(f"%env KEPT={VALUE}")
    kernel.run("%env KEPT=changed for a while\nimport os; os._exit(1)")
    assert kernel.value("%env KEPT") == repr(VALUE)


BOUND = 8192  # kernel/records/variables.h: of lines of code, and the same of what cells say

FORGED = """import json, os, struct
def say(**frame):
    body = json.dumps(dict(frame, type="variable")).encode()
    os.write(3, struct.pack("<II", len(body), 0) + body)
for i in range({n}):
    say(name="N%d" % i, value="unlikely-%06d" % i)
"""
COMPUTED = """for i in range({n}):
    _ = get_ipython().run_line_magic("env", "N=unlikely-%06d" % i)
"""


def in_code(n):
    """Of another magic, for petri reads these lines, too: IPython takes minutes for as many of its own."""
    return "%%writefile /tmp/lines\n" + "\n".join(f"%env N=unlikely-{i:06d}" for i in range(n))


FILLS = {"forged": FORGED.format, "computed": COMPUTED.format, "code": lambda n: in_code(n)}
KEY = "zanzibar-quokka-lamp"


def shown(cell):
    result = subprocess.run([PETRI, "show", cell.report["run_id"]], capture_output=True, text=True, check=True)
    return result.stdout


@pytest.mark.parametrize(
    ("fill", "n"),
    [
        ("forged", 3000),
        ("computed", BOUND + 100),
        ("code", BOUND + 100),
        pytest.param("forged", BOUND + 100, marks=pytest.mark.thorough),
        pytest.param("computed", 3000, marks=pytest.mark.thorough),
        pytest.param("code", 3000, marks=pytest.mark.thorough),
    ],
)
def test_values_before_and_after_very_many_others_are_not_recorded(stored, start, fill, n):
    kernel = start()
    kernel.good(f"%env SECRETKEY={KEY}")
    filled = kernel.run(FILLS[fill](n=n))
    if n < BOUND:
        assert filled.ok
    else:
        assert filled.ename == ("CellRefused" if fill == "code" else "CellCrashed")
        assert "petri can keep out of its records" in filled.reply["evalue"]
    assert "[redacted: variable SECRETKEY]" in shown(kernel.good("import os; print('two', os.environ['SECRETKEY'])"))
    last = kernel.run(f"print('unlikely-{min(n, BOUND) - 2:06d}')")
    assert "unlikely-" not in shown(last)
    if kernel.run(f"%env LATE={VALUE}\nprint('{VALUE}')").ok:
        kernel.run(f"print('{VALUE}')")
    kernel.run(f"half = {OTHER[:7]!r}")
    kernel.run(f"%env COMPUTED={{half}}{OTHER[7:]}\nprint(half + {OTHER[7:]!r})")
    kernel.close()
    for value in KEY, VALUE, OTHER:
        assert value.encode() not in stored()
    if fill != "forged":  # there its code has it
        assert b"unlikely-0" not in stored()


def test_configuration_check_shows_no_value(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"variables": {"GIVEN": VALUE, "PATH": OTHER, "BAD": [VALUE]}}))
    result = subprocess.run([PETRI, "config", "check", path], capture_output=True, text=True, check=False)
    assert result.returncode == 2 and "GIVEN" not in result.stderr
    assert '"variables", "PATH"' in result.stderr and '"variables", "BAD"' in result.stderr
    assert VALUE not in result.stdout + result.stderr and OTHER not in result.stdout + result.stderr
