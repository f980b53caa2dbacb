"""A widget's message is a cell in every respect: limits, task, files, record. What it has not is a reply."""

import json
import sqlite3

import pytest

from kernels import is_idle

# What a message with {"do": code} runs in its handler.
HANDLER = (
    "from comm import create_comm\nseen = []\nchannel = create_comm(target_name='t', comm_id='c')\n"
    "channel.on_msg(lambda message: exec(message['content']['data']['do'], globals()))"
)


@pytest.fixture
def records(tmp_path, monkeypatch):
    """The records of the kernels of one test, in order, without the runs that have code."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def read():
        with sqlite3.connect(tmp_path / "data" / "petri" / "records.sqlite") as connection:
            bodies = [json.loads(body) for (body,) in connection.execute("SELECT body FROM runs ORDER BY n")]
        return [body for body in bodies if "message" in body]

    return read


@pytest.fixture
def kernel(records, start):
    kernel = start()
    kernel.good(HANDLER)
    return kernel


def tell(kernel, do, **petri):
    """A message whose handler does that, with its metadata.petri; returns the errors that were published for it."""
    message = kernel.client.session.msg("comm_msg", {"comm_id": "c", "data": {"do": do}}, metadata={"petri": petri})
    kernel.client.shell_channel.send(message)
    published = kernel.iopub_until(message["header"]["msg_id"], is_idle)
    return [one["content"]["ename"] for one in published if one["msg_type"] == "error"]


@pytest.mark.check
def test_message_is_recorded_with_its_files_and_they_are_copied_out(kernel, records):
    (kernel.folder / "in.txt").write_text("in")
    do = "seen.append(open('in.txt').read()); open('made.txt', 'w').write('made'); print('said')"
    assert tell(kernel, do, task="T-1", files=[{"path": "given.txt", "text": "g"}]) == []
    [record] = records()
    report = record["report"]
    assert (report["outcome"], report["task"], report["rolled_back"]) == ("ok", "T-1", False)
    assert {row["path"]: row.get("copied_to") for row in report["artifacts"]} == {"made.txt": "outputs/made.txt"}
    assert (kernel.folder / "outputs" / "made.txt").read_text() == "made"
    assert {row["path"] for row in report["inputs"]} == {"given.txt", "in.txt"}
    assert record["message"]["content"] == {"comm_id": "c", "data": {"do": do}}
    assert record["outputs"][0] == {"output_type": "stream", "name": "stdout", "text": "said\n"}
    assert kernel.value("seen") == "['in']"


def test_message_over_its_limit_never_happened(kernel, records):
    assert tell(kernel, "seen.append(1)\nwhile True: pass", limits={"timeout": "300ms"}) == ["CellTimeout"]
    [record] = records()
    assert (record["report"]["outcome"], record["report"]["limits"]["timeout_ms"]) == ("timeout", 300)
    assert record["report"]["error"]["ename"] == "CellTimeout"
    assert kernel.value("seen") == "[]"


@pytest.mark.parametrize(
    "petri", [{"limits": {"timeout": "2h"}}, {"no_such_key": 1}, {"env": {"SECRET": "1"}}], ids=["ceiling", "key", "env"]
)
def test_message_that_asks_for_more_than_it_may_is_refused(kernel, records, petri):
    assert tell(kernel, "seen.append(1)", **petri) == ["CellRefused"]
    [record] = records()
    assert record["report"]["outcome"] == "refused"
    assert kernel.value("seen") == "[]"


def test_messages_of_a_task_are_counted_with_its_cells(kernel, records):
    task = {"task": "T-2", "limits": {"runs": 2}}
    assert kernel.ask("1", task).ok
    assert tell(kernel, "seen.append(1)", **task) == []
    assert tell(kernel, "seen.append(2)", **task) == ["BudgetExceeded"]
    assert kernel.ask("1", task).ename == "BudgetExceeded"
    assert kernel.value("seen") == "[1]"
    assert [record["report"]["outcome"] for record in records()] == ["ok", "refused"]


def test_expectations_of_a_message_are_checked_in_its_record(kernel, records):
    assert tell(kernel, "print('12 rows')", expect={"stdout_regex": r"^\d+ rows$"}) == []
    [record] = records()
    assert [(row["check"], row["ok"]) for row in record["report"]["validation"]] == [("stdout_regex", True)]


def test_secrets_in_a_message_are_not_recorded(kernel, records):
    token = "ghp_" + "a1B2" * 9  # of no one
    assert tell(kernel, f"seen.append('{token}')") == []
    [record] = records()
    assert token not in json.dumps(record)
    assert record["redacted"]["message"] > 0


def send_many(kernel, n, comm_id):
    """So many messages that count themselves; returns the last one's id."""
    for _ in range(n):
        content = {"comm_id": comm_id, "data": {"do": "seen.append(1)"}}
        message = kernel.client.session.msg("comm_msg", content, metadata={"petri": {}})
        kernel.client.shell_channel.send(message)
    return message["header"]["msg_id"]


def test_messages_to_a_comm_that_was_never_opened_make_no_cell(kernel, records):
    kernel.iopub_until(send_many(kernel, 3000, "none"), is_idle)
    assert records() == []
    assert tell(kernel, "seen.append(2)") == []
    assert kernel.value("seen") == "[2]"


def test_message_to_a_comm_that_the_running_cell_opens_runs_behind_it(kernel, records):
    """And after %undo it is ignored."""
    opens = HANDLER.replace("seen = []\n", "").replace("'c'", "'late'")
    request = kernel.send(opens)
    message = send_many(kernel, 1, "late")
    assert kernel.finish(request).ok
    kernel.iopub_until(message, is_idle)
    assert kernel.value("seen") == "[1]"
    kernel.good("%undo 2")
    kernel.iopub_until(send_many(kernel, 1, "late"), is_idle)
    assert kernel.value("seen") == "[]"
