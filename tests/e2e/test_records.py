"""Run records: what is kept of a run and what never is, replay, cached results, and the budget of a task."""

import base64
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from branches import finish
from kernels import PETRI, STUCK_S

TOKEN = "ghp_" + "a1B2" * 9  # of no one


@pytest.fixture
def database(tmp_path, monkeypatch):
    """Where the kernels of one test record their runs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "petri" / "records.sqlite"


def ask(kernel, code, silent=False, **asked):
    """Runs code with metadata.petri; returns its Cell."""
    return kernel.ask(code, asked, silent=silent, store_history=not silent)


def rows(database, sql, *parameters):
    with sqlite3.connect(database) as connection:
        return connection.execute(sql, parameters).fetchall()


def body(database, run_id):
    return json.loads(rows(database, "SELECT body FROM runs WHERE run_id = ?", run_id)[0][0])


def test_run_is_recorded_with_what_it_was_given_and_gave(database, start):
    kernel = start()
    files = [{"path": "in.csv", "text": "a,b\n1,2\n"}]
    cell = ask(kernel, "print(open('in.csv').read())\n6 * 7", files=files, task="T-1", stdin="yes\n")
    assert cell.report["record"] is True
    record = body(database, cell.report["run_id"])
    assert record["code"] == "print(open('in.csv').read())\n6 * 7"
    assert record["request"] == {"task": "T-1", "stdin": "yes\n"}
    assert [(row["path"], row["bytes"], row["kept"]) for row in record["files"]] == [("in.csv", 8, True)]
    assert rows(database, "SELECT data FROM blobs WHERE sha256 = ?", record["files"][0]["sha256"]) == [(b"a,b\n1,2\n",)]
    assert record["outputs"][0] == {"output_type": "stream", "name": "stdout", "text": "a,b\n1,2\n\n"}
    assert record["outputs"][1]["data"]["text/plain"] == "42"
    assert record["report"]["outcome"] == "ok"
    environment = json.loads(rows(database, "SELECT json FROM environments")[0][0])
    assert environment["distributions"]["numpy"] and environment["interpreter"]["sha256"]
    assert environment["settings"]["PYTHONHASHSEED"] == "0"


def test_records_that_others_read_meanwhile_are_not_lost(database, start):
    """The last to close a database in SQLite tidies up: a kernel that works with it has to be seen to."""
    kernel = start()
    answered = []
    for n in range(3):
        answered.append((ask(kernel, f"{n}").report["run_id"],))
        reader = sqlite3.connect(database)
        assert reader.execute("SELECT run_id FROM runs ORDER BY n").fetchall() == answered
        reader.close()
    kernel.close()
    assert rows(database, "SELECT run_id FROM runs ORDER BY n") == answered


@pytest.mark.check
def test_run_of_every_outcome_is_recorded_and_a_silent_one_is_not(database, start):
    kernel = start()
    cells = [
        ask(kernel, "1 / 0"),
        ask(kernel, "%%limits timeout=300ms\nwhile True: pass"),
        ask(kernel, "import os; os._exit(3)"),
        ask(kernel, "1", no_such_key=1),
    ]
    silent = ask(kernel, "1", silent=True)
    recorded = rows(database, "SELECT run_id, outcome FROM runs ORDER BY n")
    assert [run_id for run_id, _ in recorded] == [cell.report["run_id"] for cell in cells]
    assert [outcome for _, outcome in recorded] == ["error", "timeout", "crash", "refused"]
    assert silent.report["record"] is False


def test_secrets_are_not_stored(database, configure, start):
    configure(redact=["CASE-[0-9]+"])
    kernel = start()
    code = f"password = 'hunter2'\nimport sys\nsys.stdout.write('{TOKEN[:12]}'); sys.stdout.flush()\n"
    code += f"print('{TOKEN[12:]}', 'CASE-77')\nraise ValueError('{TOKEN}')"
    files = [{"path": "keys.txt", "text": TOKEN}]
    cell = ask(kernel, code, files=files, stdin=f"api_key = '{TOKEN}'")
    assert cell.report["record"] is True
    kernel.close()
    record = body(database, cell.report["run_id"])
    assert record["redacted"]["code"] and record["redacted"]["outputs"] and record["redacted"]["request"]
    assert record["files"][0]["kept"] is False
    for file in database.parent.iterdir():
        if file.name.startswith(("records", "history")):
            content = file.read_bytes()
            assert TOKEN.encode() not in content and b"hunter2" not in content and b"CASE-77" not in content


def test_task_is_refused_when_its_runs_are_used_also_by_a_new_kernel(database, start):
    kernel = start()
    assert ask(kernel, "a = 1", task="T", limits={"runs": 2}).report["outcome"] == "ok"
    divides = "1 / 0  #" + "é" * 40  # longer than what is told of it, which ends inside a character
    assert ask(kernel, divides, task="T", limits={"runs": 2}).report["outcome"] == "error"
    kernel.close()
    kernel = start()
    cell = ask(kernel, "ran = True", task="T", limits={"runs": 2})
    assert cell.ename == "BudgetExceeded"
    assert "task T has used 2 runs and its limit runs is 2" in cell.reply["evalue"]
    history = "\n".join(cell.reply["traceback"])
    assert "1 / 0" in history and "a = 1" in history
    assert cell.report["outcome"] == "refused"
    assert ask(kernel, "ran").ename == "NameError"
    assert ask(kernel, "1", task="other", limits={"runs": 2}).report["outcome"] == "ok"


def test_task_is_refused_when_its_time_is_used(database, start):
    kernel = start()
    assert ask(kernel, "import time; time.sleep(0.3)", task="T", limits={"budget": "200ms"}).report["outcome"] == "ok"
    cell = ask(kernel, "1", task="T", limits={"budget": "200ms"})
    assert cell.ename == "BudgetExceeded" and "of time" in cell.reply["evalue"]


def test_budget_holds_without_records_for_as_long_as_the_kernel_lives(database, configure, start):
    configure(records=False, profiles={"notebook": {"runs": 1}})
    kernel = start()
    cell = ask(kernel, "1", task="T")
    assert cell.report["record"] is False and cell.report["outcome"] == "ok"
    assert ask(kernel, "1", task="T").ename == "BudgetExceeded"
    assert ask(kernel, "%%limits runs=9\n1", task="T").ename == "CellRefused"
    assert not database.exists()


def petri(*arguments):
    """What a command of petri's does, with the environment of the test."""
    return subprocess.run([PETRI, *arguments], capture_output=True, text=True, check=False)


def test_silent_runs_of_a_task_count_too(database, start):
    kernel = start()
    assert ask(kernel, "1", silent=True, task="T", limits={"runs": 1}).report["outcome"] == "ok"
    assert ask(kernel, "1", task="T", limits={"runs": 1}).reply["ename"] == "BudgetExceeded"


def test_secrets_with_what_nobody_sees_inside_are_not_stored(database, start):
    kernel = start()
    half = len(TOKEN) // 2
    code = "from IPython.display import HTML\n" + "".join(
        f"print('{TOKEN[:half]}{inside}{TOKEN[half:]}')\n"
        for inside in ("\\x1b[1m", "\\u200b", "\u200b", "\\n", "\\x08")
    )
    code += f"HTML('{TOKEN[:half]}<!-- -->{TOKEN[half:]}')"
    cell = ask(kernel, code)
    kernel.close()
    record = body(database, cell.report["run_id"])
    for file in database.parent.iterdir():
        assert TOKEN[:half].encode() not in file.read_bytes() and TOKEN[half:].encode() not in file.read_bytes(), file
    assert record["redacted"]["code"] == 6 and record["redacted"]["outputs"] >= 6


ENCODED = {
    "base64": lambda value: base64.b64encode(value).decode(),
    "hex": bytes.hex,
    "percent": lambda value: "".join(f"%{byte:02X}" for byte in value),
    "quoted": lambda value: "".join(f"={byte:02X}" for byte in value),
    "json": lambda value: "".join(f"\\u{byte:04x}" for byte in value),
}
# Where a cell can put a text: {0} is what gives it.
WAYS = [
    "open('made.bin', 'w').write({0})",
    "print({0})",
    "{0}",
    "raise ValueError({0})",
    "import sys; print({0}, file=sys.stderr)",
    "from IPython.display import *; display(HTML('<b>' + {0} + '</b>'))",
    "display(JSON({{'list': [{0}]}}))",
    "display({{'text/plain': 'x', 'application/vnd.some+json': {{{0}: [{0}]}}}}, raw=True, metadata={{'m': {0}}})",
    "display({{'text/plain': 'x', 'application/pdf': {0}}}, raw=True)",
]
# The bytes themselves, which petri or IPython encodes.
RAW_WAYS = [
    "open('made.bin', 'wb').write(b'\\x89PNG\\0' + {0})",
    "display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n\\0\\0' + {0}, format='png'))",
    "import base64; display({{'application/octet-stream': base64.b64encode({0}).decode()}}, raw=True)",
    "{0}",
]


@pytest.mark.parametrize("each", [1, pytest.param(len(ENCODED), marks=pytest.mark.thorough)])
def test_secret_is_stored_in_no_encoding_by_no_way(database, start, each):
    """`each`: how many of the encodings each way is tried with, others by the next way."""
    kernel = start()
    turn = itertools.cycle(ENCODED)
    kernel.good("from IPython.display import *\nsecret = 'ghp_'")
    for part in TOKEN[4:16], TOKEN[16:28], TOKEN[28:]:  # it stands nowhere in code
        kernel.good(f"secret += {part!r}")
    kernel.good(
        "import base64\nencoded = dict(base64=base64.b64encode(secret.encode()).decode())\n"
        "encoded['hex'] = secret.encode().hex()\n"
        "for name, form in ('percent', '%%%02X'), ('quoted', '=%02X'), ('json', r'\\u%04x'):\n"
        "    encoded[name] = ''.join(form % byte for byte in secret.encode())"
    )
    for way in WAYS:
        for name in itertools.islice(turn, each):
            ask(kernel, way.format(f"encoded[{name!r}]"), inline_bytes=1000)
    for way in RAW_WAYS:
        ask(kernel, way.format("secret.encode()"), inline_bytes=1000)
    for name, encode in ENCODED.items():  # in code and in the history
        ask(kernel, f"text = {encode(TOKEN.encode())!r}")
    made = ask(kernel, "open('made.bin', 'wb').write(secret.encode() * 2)", inline_bytes=1000)
    kernel.close()
    [artifact] = body(database, made.report["run_id"])["report"]["artifacts"]
    assert artifact["data"] == "[redacted: encoded secret]" and artifact["sha256"]
    stored = b"".join(file.read_bytes() for file in database.parent.iterdir())
    half = TOKEN[16:].encode()
    pieces = [half.decode(), *(encode(half) for encode in ENCODED.values()), ENCODED["base64"](TOKEN.encode())[12:]]
    for text in pieces:
        for escaped in text, text.replace("\\", "\\\\"):
            assert escaped.encode() not in stored, escaped


def test_commands_runs_and_show_print_what_ran(database, start):
    kernel = start()
    first = ask(kernel, "print('\\x1b[2Jhello')\n6 * 7", task="T").report["run_id"]
    ask(kernel, "1 / 0")
    listed = json.loads(petri("runs", "--json").stdout)
    summaries = [(run["outcome"], run["summary"]) for run in listed]
    assert summaries == [("error", "1 / 0"), ("ok", "print('\\x1b[2Jhello')")]
    assert [run["run_id"] for run in json.loads(petri("runs", "--json", "--task", "T").stdout)] == [first]
    assert [run["outcome"] for run in json.loads(petri("runs", "--json", "--outcome", "error").stdout)] == ["error"]
    assert len(petri("runs", "--limit", "1").stdout.splitlines()) == 2
    session = listed[0]["session_id"]
    heading, *rows = (line.split() for line in petri("runs").stdout.splitlines())
    assert heading[:2] == ["run", "session"] and [row[:2] for row in rows] == [
        [run["run_id"][:8], session[:8]] for run in listed
    ]
    assert len(petri("runs", "--session", rows[0][1]).stdout.splitlines()) == 4  # with the head and the first state
    shown = json.loads(petri("show", first, "--json").stdout)
    assert shown["report"]["run_id"] == first and shown["environment"]["petri"]
    text = petri("show", first[:13]).stdout
    assert "?[2Jhello\n42\n" in text and "\x1b" not in text
    assert petri("show", "no-such-run").returncode == 2
    assert "no?such" in petri("show", "no\u202esuch").stderr
    assert "there is no run no-such-run" in petri("show", "no-such-run").stderr


def test_commands_print_nothing_that_a_terminal_obeys_or_that_turns_text_round(database, start):
    code = "print('a\\u202eb\\u200bc\\x9bd\\U000e0041e')\nopen('new.txt', 'w').close()\n# \u202e\u2066"
    run_id = ask(start(), code, task="T\u202e\u200b").report["run_id"]
    ask(start(), "raise ValueError('\\x1b]0;x\\x07\\u2028')")
    text = petri("show", run_id).stdout
    assert "a?b?c?d?e" in text and "# ??" in text
    outputs = [text, *(petri("runs", *json_).stdout for json_ in ((), ("--json",))), petri("show", run_id, "--json").stdout]
    for output in outputs:
        assert not set("\u202e\u200b\x9b\x1b\x07\u2028\u2066\U000e0041") & set(output)
    assert json.loads(outputs[3])["outputs"][0]["text"] == "a\u202eb\u200bc\x9bd\U000e0041e\n"


def branches(start):
    """The ids of runs of a session that went back and forth, by what they are in it."""
    kernel = start()
    run = {
        "one": ask(kernel, "x = 1"),
        "two": ask(kernel, "x = 2", checkpoint="base"),
        "undo": ask(kernel, "%undo"),
        "beside": ask(kernel, "x"),
        "crash": ask(kernel, "import os; os._exit(3)"),
        "on": ask(kernel, "x * 2", **{"from": "base"}),
        "tried": ask(kernel, "x = 9", commit=False),
        "fresh": ask(kernel, "7", fresh=True),
    }
    kernel.close()
    session = run["one"].report["session_id"]
    return session, {name: cell.report["run_id"] for name, cell in run.items()}


def test_runs_of_a_session_are_drawn_as_the_tree_of_its_states(database, start):
    session, run = branches(start)
    drawn = petri("runs", "--session", session[:13]).stdout.splitlines()
    assert [(line[:8].rstrip(), line[8], line.split("  ")[-1]) for line in drawn[2:]] == [
        ("├─ [4]", " ", "7"),
        ("[1]", " ", "x = 1"),
        ("├─ [2]", " ", "x"),
        ("│  [3]", " ", "import os; os._exit(3)"),
        ("[2]", " ", "x = 2"),
        ("[3]", "*", "x * 2"),
        ("[4]", " ", "x = 9"),
    ]
    listed = json.loads(petri("runs", "--session", session, "--json").stdout)
    assert [row["run_id"] for row in listed] == list(run.values())
    assert [row["parent"] for row in listed[3:6]] == [run["one"], run["beside"], run["two"]]
    assert listed[2]["image"] == run["one"] and listed[4]["image"] is None
    refused = petri("runs", "--session", session, "--task", "T")
    assert refused.returncode == 2 and "leave out --task and --outcome" in refused.stderr
    assert "there is no session no-such" in petri("runs", "--session", "no-such").stderr


def test_show_says_in_which_state_a_run_began_what_it_left_and_the_path_to_it(database, start):
    _, run = branches(start)
    shown = petri("show", run["on"]).stdout
    assert f"\nbegan in     {run['two'][:8]} [2]\nleft         its own state\n" in shown
    assert f"\npath\n        first     \n  [1]   {run['one'][:8]}  x = 1\n  [2]   {run['two'][:8]}  x = 2\n\ncode" in shown
    assert "\nbegan in     first\nleft         its own state\n" in petri("show", run["one"]).stdout
    assert "\nleft         its own state, named base\n" in petri("show", run["two"]).stdout
    for name in ("crash", "tried", "fresh"):
        assert "\nleft         no state: nothing of it was kept\n" in petri("show", run[name]).stdout, name
    undo = petri("show", run["undo"]).stdout
    assert f"\nleft         {run['one'][:8]}\n" in undo and "began in" not in undo
    path = json.loads(petri("show", run["on"], "--json").stdout)["path"]
    assert [step["image"] for step in path] == ["first", run["one"], run["two"]]
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM runs WHERE run_id = ?", (run["one"],))
    shown = petri("show", run["on"]).stdout
    assert f"\npath\n  ... what came before it is not in the records\n  [2]   {run['two'][:8]}  x = 2\n" in shown


def test_show_and_runs_of_parents_that_go_round_in_a_circle_end(database, start):
    session, run = branches(start)
    record = body(database, run["one"])["report"]
    forge(database, run["one"], report={**record, "parent": run["two"]})
    path = json.loads(petri("show", run["on"], "--json").stdout)["path"]
    assert {step["image"] for step in path} == {run["one"], run["two"]}
    assert petri("runs", "--session", session).returncode == 0


def test_runs_and_replay_of_a_session_that_petri_did_not_record_end_in_a_sentence(database, shared_records):
    run_id = shared_records(database)
    report = body(database, run_id)["report"]
    session = report["session_id"]
    for changes in ({"image": 7}, {"image": "\x1b[2J", "committed": False}, {"parent": ["first"]}, {"checkpoint": {}}):
        forge(database, run_id, report={**report, **changes})
        drawn = petri("runs", "--session", session)
        assert drawn.returncode == 0 and drawn.stdout.startswith("cell") and "\x1b" not in drawn.stdout, changes
        done = petri("replay", "--session", session, "--python", sys.executable)
        assert done.returncode in (0, 1) and "The tree of states is" in done.stdout, done
    forge(database, run_id, report={"session_id": session, "profile": "\x1b[2J"})
    done = petri("replay", "--session", session)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"petri: the session can't be replayed: of run {run_id}, its record is not as petri writes them\n"


def replay(run_id):
    """The exit status, and what differs by what it is."""
    done = petri("replay", run_id, "--json", "--python", sys.executable)
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    assert answer["same"] == (done.returncode == 0)
    return {row["what"]: row for row in answer["differences"]}


def test_replay_of_a_run_without_dependencies_is_the_same(database, start):
    kernel = start()
    files = [{"path": "in.csv", "text": "1,2\n"}]
    code = "import os\nprint(open('in.csv').read(), input(), os.environ['PYTHONHASHSEED'], {'a', 'b', 'c'})\n6 * 7"
    run_id = ask(kernel, code, files=files, stdin="yes\n", task="T", limits={"timeout": "7s"}).report["run_id"]
    failed = ask(kernel, "raise ValueError('so it is')").report["run_id"]
    kernel.close()
    assert replay(run_id) == {}
    assert replay(failed) == {}
    assert petri("replay", "no-such-run").returncode == 2


def test_replay_finds_an_unseeded_random_number_and_a_missing_state(database, start):
    kernel = start()
    number = ask(kernel, "import random\nprint(random.random())\nx = 5").report["run_id"]
    state = ask(kernel, "x").report["run_id"]
    kernel.close()
    assert set(replay(number)) == {"stdout"}
    missing = replay(state)
    assert missing["outcome"]["after"] == "error" and missing["result"]["before"] == "5"


def replay_session(session):
    """The answer of a replay of a session."""
    done = petri("replay", "--session", session, "--json", "--python", sys.executable)
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    assert answer["same"] == (done.returncode == 0)
    return answer


def tree(session):
    """The parents of a session's runs and what they left, by their order and with runs as their place in it."""
    rows = json.loads(petri("runs", "--session", session, "--json").stdout)
    listed = [row for row in rows if not row["summary"].startswith("%")]
    place = {row["run_id"]: number for number, row in enumerate(listed)} | {"first": "first", None: None}
    return [(row["summary"], row["execution_count"], place[row["parent"]], place[row["image"]]) for row in listed]


def test_replay_of_a_session_has_the_recorded_tree(database, start):
    session, run = branches(start)
    answer = replay_session(session)
    assert answer["same"] and answer["same_tree"], answer
    lines = {run["undo"]}
    assert [row["run_id"] for row in answer["runs"]] == [run_id for run_id in run.values() if run_id not in lines]
    again = json.loads(petri("show", answer["runs"][0]["replay_run_id"], "--json").stdout)["report"]["session_id"]
    assert again != session and tree(again) == tree(session)
    text = petri("replay", "--session", session, "--python", sys.executable).stdout.splitlines()
    assert text[-2:] == ["Of 7 runs 0 differ.", "The tree of states is the recorded one."]
    assert text[0] == f"[1]   {run['one'][:8]}  the same  x = 1"


def test_replay_of_a_session_whose_limits_a_cell_has_set_and_shown_finds_no_difference(database, start):
    kernel = start()
    session = ask(kernel, "x = 1").report["session_id"]
    told = ask(kernel, "%limits timeout=50s\nprint(x)")
    ask(kernel, "%limits timeout=40s memory=1G")
    assert ask(kernel, "%limits").of("display_data")
    kernel.close()
    outputs = json.loads(petri("show", told.report["run_id"], "--json").stdout)["outputs"]
    assert outputs[0]["text"] == told.stdout == "From this cell on the session has timeout 50 s.\n1\n"
    answer = replay_session(session)
    assert answer["same"] and answer["same_tree"], answer


def test_replay_of_a_session_with_branches_has_the_recorded_tree(database, start):
    """Of three that ran at once the second is kept; and one ran beside the session while that had gone on."""
    kernel = start()
    first = ask(kernel, "x = 1").report
    codes = ["x += 1\nx", "x += 2\nx", "x += 3\nx"]
    requests = [kernel.send_asking(code, {"from": first["image"], "commit": "branch"}) for code in codes]
    kept = finish(kernel, [], *requests)
    assert kernel.control("petri_restore_request", {"to": kept[1].report["image"]})["status"] == "ok"
    assert ask(kernel, "x").result == "3"
    assert ask(kernel, "x", commit=False, **{"from": kept[2].report["image"]}).result == "4"
    assert ask(kernel, "x = 10 * x\nx").result == "30"
    kernel.close()
    answer = replay_session(first["session_id"])
    assert answer["same"] and answer["same_tree"], answer
    again = json.loads(petri("show", answer["runs"][0]["replay_run_id"], "--json").stdout)["report"]["session_id"]
    assert tree(again) == tree(first["session_id"])


def test_replay_of_a_session_with_runs_that_take_no_number_has_the_recorded_tree(database, start):
    """They belong to the step before them; a number that a cell had that was rolled back is taken all the same."""
    kernel = start()
    session = ask(kernel, "x = 1").report["session_id"]
    ask(kernel, "import os; os._exit(1)")
    hidden = kernel.ask("x += 1", {}, store_history=False)
    assert hidden.report["image"] == kernel.control("petri_timeline_request")["current"]
    ask(kernel, "%checkpoint named")
    kernel.ask("x += 10", {}, store_history=False)
    ask(kernel, " ")
    assert ask(kernel, "x").result == "12"
    ask(kernel, "%restore named")
    assert ask(kernel, "x").result == "2"
    assert ask(kernel, "Out").result == "{3: 2}"
    kernel.close()
    answer = replay_session(session)
    assert answer["same"] and answer["same_tree"], answer
    again = json.loads(petri("show", answer["runs"][0]["replay_run_id"], "--json").stdout)["report"]["session_id"]
    assert tree(again) == tree(session)


def test_replay_of_a_session_that_a_program_moved_has_the_recorded_tree(database, start):
    """Requests on the control channel leave no record; names do, where a line gave them."""
    kernel = start()
    ask(kernel, "x = 1")
    ask(kernel, "%checkpoint one")
    session = ask(kernel, "x += 1").report["session_id"]
    assert kernel.control("petri_restore_request", {"to": "one"})["status"] == "ok"
    ask(kernel, "print(x)")
    kernel.close()
    answer = replay_session(session)
    assert answer["same"] and answer["same_tree"], answer
    again = json.loads(petri("show", answer["runs"][0]["replay_run_id"], "--json").stdout)["report"]["session_id"]
    assert [row["summary"] for row in json.loads(petri("runs", "--session", again, "--json").stdout)] == [
        "x = 1",
        "%checkpoint one",
        "x += 1",
        "print(x)",
    ]


def test_replay_of_a_session_says_which_run_left_another_state(database, start, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    kernel = start(folder=folder)
    ask(kernel, "import os")
    ended = ask(kernel, "'crash.txt' in os.listdir() and os._exit(3)").report
    ask(kernel, "6 * 7")
    kernel.close()
    (folder / "crash.txt").write_text("")
    answer = replay_session(ended["session_id"])
    assert not answer["same"] and not answer["same_tree"]
    differs = {row["run_id"]: [found["what"] for found in row["differences"]] for row in answer["runs"]}
    assert "state" in differs[ended["run_id"]] and "outcome" in differs[ended["run_id"]]
    text = petri("replay", "--session", ended["session_id"], "--python", sys.executable).stdout
    assert text.endswith("The tree of states is another one.\n")


def test_replay_of_a_session_with_a_secret_runs_nothing(database, start):
    kernel = start()
    session = ask(kernel, "x = 1").report["session_id"]
    ask(kernel, f"x = '{TOKEN}'")
    kernel.close()
    refused = petri("replay", "--session", session)
    assert refused.returncode == 2 and "its code had secrets in it" in refused.stderr
    assert len(json.loads(petri("runs", "--json").stdout)) == 2
    for arguments in ([], ["a-run", "--session", session]):
        refused = petri("replay", *arguments)
        assert refused.returncode == 2 and "needs RUN or --session ID" in refused.stderr


def test_replay_of_a_run_that_began_in_another_state_and_named_its_own_is_fresh(database, start):
    kernel = start()
    run_id = ask(kernel, "6 * 7", **{"from": "first", "checkpoint": "answer"}).report["run_id"]
    kernel.close()
    assert replay(run_id) == {}


def test_replay_of_a_cached_run_runs_it_again(database, configure, start, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    configure(cache={"ttl": "1h"})
    kernel = start(folder=folder)
    run_id = ask(kernel, "import random\nprint(random.random())", fresh=True, cache="1h").report["run_id"]
    kernel.close()
    assert set(replay(run_id)) == {"stdout"}


def test_cached_run_is_not_given_where_its_import_is_refused_now(database, configure, start, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    kernel = start(folder=folder)
    first = ask(kernel, "import random\nprint(1)", fresh=True, cache="1h").report
    again = ask(kernel, "import random\nprint(1)", fresh=True, cache="1h").report
    assert again["cached"] and again["run_id"] == first["run_id"]
    kernel.close()
    configure(refuse={"imports": ["random"]})
    kernel = start(folder=folder)
    assert ask(kernel, "import random\nprint(1)", fresh=True, cache="1h").report["outcome"] == "refused"


def test_replay_finds_a_changed_input(database, start, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (folder / "table.csv").write_text("1\n")
    kernel = start(folder=folder)
    run_id = ask(kernel, "print(len(open('table.csv').read()))").report["run_id"]
    kernel.close()
    assert replay(run_id) == {}
    (folder / "table.csv").write_text("2\n")
    changed = replay(run_id)
    assert set(changed) == {"input"} and changed["input"]["name"] == "table.csv"


def test_replay_finds_a_changed_package(database, start):
    kernel = start()
    run_id = ask(kernel, "1").report["run_id"]
    kernel.close()
    with sqlite3.connect(database) as connection:
        (text,) = connection.execute("SELECT json FROM environments").fetchone()
        environment = json.loads(text)
        environment["distributions"]["numpy"] = "0.0.1"
        connection.execute("INSERT INTO environments VALUES('other', ?)", (json.dumps(environment),))
        connection.execute("UPDATE runs SET environment = 'other'")
    found = replay(run_id)
    assert set(found) == {"package"}
    assert found["package"]["name"] == "numpy" and found["package"]["before"] == "0.0.1"


def test_replay_of_a_run_with_secrets_is_refused(database, start):
    kernel = start()
    run_id = ask(kernel, f"x = '{TOKEN}'").report["run_id"]
    refused = petri("replay", run_id)
    assert refused.returncode == 2 and "its code had secrets in it" in refused.stderr


def forge(database, run_id, **changes):
    """Writes another record in a run's place, as who has a hand in the database can; None takes a key out."""
    record = body(database, run_id)
    for key, value in changes.items():
        record.pop(key) if value is None else record.update({key: value})
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE runs SET body = ? WHERE run_id = ?", (json.dumps(record), run_id))


def forge_interpreter(database, named):
    with sqlite3.connect(database) as connection:
        environment = json.loads(connection.execute("SELECT json FROM environments").fetchone()[0])
        environment["interpreter"]["named"] = named
        connection.execute("UPDATE environments SET json = ?", (json.dumps(environment),))


def test_replay_says_in_which_folder_and_with_which_interpreter(database, start, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    kernel = start(folder=folder)
    run_id = ask(kernel, "6 * 7").report["run_id"]
    kernel.close()
    done = petri("replay", run_id)
    assert done.stderr == f"petri: replaying in {folder} with {sys.executable}\n"
    elsewhere = petri("replay", run_id, "--folder", str(tmp_path), "--python", "python3")
    assert elsewhere.stderr.splitlines()[0] == f"petri: replaying in {tmp_path} with python3"


def test_replay_takes_no_folder_and_no_interpreter_that_a_record_makes_up(database, start, tmp_path):
    run_id = ask(start(), "6 * 7").report["run_id"]
    (tmp_path / "theirs" / "bin").mkdir(parents=True)
    (tmp_path / "theirs" / "bin" / "python").symlink_to(sys.executable)
    refusals = [
        ("notebooks", "the record names no folder by an absolute path; name one with --folder"),
        (["/"], "the record names no folder by an absolute path"),
        (None, "the record names no folder by an absolute path"),
        ("/no\x1b[2Jwhere", "its folder /no?[2Jwhere is not there any more; name one with --folder, an empty one if"),
        ("/etc/passwd", "its folder /etc/passwd: Not a directory"),
    ]
    if os.geteuid() == 0:
        os.chown(tmp_path / "theirs", 12345, 12345)
        theirs = str(tmp_path / "theirs")
        refusals.append((theirs, f"its folder {theirs} belongs to another user (uid 12345); name one with --folder"))
    for folder, why in refusals:
        forge(database, run_id, folder=folder)
        done = petri("replay", run_id)
        assert done.returncode == 2 and f"petri: this run can't be replayed: {why}" in done.stderr, done.stderr
    assert petri("replay", run_id, "--folder", str(tmp_path)).returncode == 0
    forge(database, run_id, folder=str(tmp_path))
    forge_interpreter(database, "python3")
    assert "names its interpreter by no absolute path; name one with --python" in petri("replay", run_id).stderr
    if os.geteuid() == 0:
        os.chown(tmp_path / "theirs" / "bin", 12345, 12345)
        forge_interpreter(database, str(tmp_path / "theirs" / "bin" / "python"))
        assert "bin/python is no program of yours or of root's; name one with --python" in petri("replay", run_id).stderr


@pytest.mark.parametrize(
    ("changes", "commands"),
    [
        ({"report": None}, ["show", "replay"]),
        ({"report": 7}, ["show", "replay"]),
        ({"code": ["rm"]}, ["show", "replay"]),
        ({"request": "x"}, ["replay"]),
        ({"report": {"profile": "\x1b[2J"}}, ["replay"]),
        ({"files": [{"path": "a", "kept": True, "sha256": 7}]}, ["replay"]),
        ({"files": [7]}, ["replay"]),
    ],
    ids=str,
)  # fmt: skip
def test_a_record_that_petri_did_not_write_ends_in_a_sentence(database, shared_records, changes, commands):
    run_id = shared_records(database)
    forge(database, run_id, **changes)
    for command in commands:
        done = petri(command, run_id)
        assert done.returncode == 2 and done.stdout == "", done
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("petri: ") and "\x1b" not in done.stderr
    petri("runs")


@pytest.fixture(scope="module")
def shared_records(kernel_dirs, tmp_path_factory):
    """Puts a database with one run into a test's place: one kernel makes it for all."""
    folder = tmp_path_factory.mktemp("recorded")
    made = folder / "data" / "petri" / "records.sqlite"

    def copy(database):
        if not made.exists():
            script = folder / "six.py"
            script.write_text("6 * 7")
            env = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
            command = [PETRI, "run", "--python", sys.executable, script]
            subprocess.run(command, env=env, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        database.parent.mkdir(parents=True)
        shutil.copy(made, database)
        return rows(database, "SELECT run_id FROM runs")[0][0]

    return copy


def test_cached_result_of_a_fresh_run_is_given_where_requested(database, start, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    kernel = start(folder=folder)
    code = "import random\nprint(random.random())\nrandom.random()"
    asked = {"fresh": True, "cache": "1h", "files": [{"path": "in.csv", "text": "1"}]}

    def run(code=code, **changes):
        return kernel.ask(code, {**asked, **changes})

    first, again = run(), run()
    assert (again.stdout, again.result) == (first.stdout, first.result)
    assert again.report["cached"] is True and again.report["run_id"] == first.report["run_id"]
    assert "cached" not in first.report and len(json.loads(petri("runs", "--json").stdout)) == 1
    others = [
        run(code=code + "\n"),
        run(files=[{"path": "in.csv", "text": "2"}]),
        run(stdin="x"),
        run(limits={"timeout": "9s"}),
        run(cache=False),
        run(fresh=False),
        run(cache="1ms"),
    ]
    assert not [cell for cell in others if "cached" in cell.report]
    (folder / "new-in-the-folder.csv").write_text("1")
    assert "cached" not in run().report
    assert run().report["cached"] is True


def test_result_with_an_error_files_or_secrets_is_not_cached(database, start, tmp_path):
    folder = tmp_path / "notebooks"  # the records lie elsewhere: they change with each run
    folder.mkdir()
    kernel = start(folder=folder)
    for code in ["1 / 0", "open('made.txt', 'w').write('x')", f"print('{TOKEN}')"]:
        for _ in range(2):
            assert "cached" not in kernel.ask(code, {"fresh": True, "cache": "1h"}).report, code
    kernel.close()
    kernel = start(folder=folder)
    assert "cached" not in kernel.ask("6 * 7", {"fresh": True}).report  # off unless asked for
    assert "cached" not in kernel.ask("6 * 7", {"fresh": True}).report


def test_result_that_depends_on_answered_input_is_not_cached(database, start, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    kernel = start(folder=folder)
    results = []
    for answer in ["one", "two"]:
        request = kernel.send_asking("input()", {"fresh": True, "cache": "1h"}, allow_stdin=True)
        kernel.client.get_stdin_msg(timeout=STUCK_S)
        kernel.client.input(answer)
        results.append(kernel.finish(request).result)
    assert results == ["'one'", "'two'"]


def test_result_without_stdin_is_not_reused_where_stdin_is_allowed(database, start, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    kernel = start(folder=folder)
    asked = {"fresh": True, "cache": "1h"}
    assert kernel.ask("6 * 7", asked).result == "42"
    assert "cached" not in kernel.ask("6 * 7", asked, allow_stdin=True).report
    assert "cached" in kernel.ask("6 * 7", asked).report


def test_damaged_records_fail_no_cell(database, start):
    database.parent.mkdir(parents=True)
    database.write_text("no database " * 1000)
    kernel = start()
    cell = ask(kernel, "6 * 7")
    assert cell.reply["status"] == "ok"
    assert cell.report["record"] is False


def remove_all(folder):
    for file in list(folder.iterdir()):
        file.unlink()


def remove_ending(ending):
    def remove(folder):
        for file in list(folder.iterdir()):
            if file.name.endswith(ending):
                file.unlink()

    return remove


REMOVALS = {
    "files": remove_all,
    "folder": shutil.rmtree,
    "databases": remove_ending(".sqlite"),
    "logs": remove_ending("-wal"),
    "renamed": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "replaced": lambda folder: [shutil.copy(file, f"{file}.new") and os.replace(f"{file}.new", file)
                                for file in list(folder.iterdir()) if file.suffix == ".sqlite"],
}  # fmt: skip


@pytest.mark.parametrize("remove", REMOVALS)
def test_records_that_are_removed_while_a_kernel_runs_begin_anew(database, start, remove):
    kernel = start()
    cached = {"fresh": True, "cache": "1h"}
    ask(kernel, "print(1)", **cached)
    ask(kernel, "1", silent=True)  # by then the cell before is in the history, too
    REMOVALS[remove](database.parent)
    cells = [ask(kernel, "print(1)", **cached), ask(kernel, "1 / 0"), ask(kernel, "after = 2")]
    for cell in cells:
        assert cell.report["record"] is True and not cell.report.get("cached")
        assert body(database, cell.report["run_id"])["code"]
    kernel.close()
    assert [code for (code,) in rows(database, "SELECT json_extract(body, '$.code') FROM runs ORDER BY n")][-3:] == [
        "print(1)",
        "1 / 0",
        "after = 2",
    ]
    assert ("1 / 0",) in rows(database.with_name("history.sqlite"), "SELECT source FROM cells")


def test_records_that_can_not_begin_anew_are_said_not_to_be(database, start):
    kernel = start()
    assert ask(kernel, "1").report["record"] is True
    shutil.rmtree(database.parent)
    database.parent.write_text("no folder")
    assert ask(kernel, "2").report["record"] is False
