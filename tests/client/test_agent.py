"""examples/agent/: each task goes as its text says, and the tutorial shows what it really prints."""

import re
import sys

import pytest

from conftest import ROOT
from pages import fenced, settle, with_its_stack

sys.path.insert(0, str(ROOT / "examples" / "agent"))

import agent  # noqa: E402
import run  # noqa: E402
import tasks  # noqa: E402

import petri_kernel as petri  # noqa: E402


def run_all(folder):
    """The folder, what was printed, and how each task went, by its name."""
    printed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda *words, **_: printed.append(" ".join(words)))
        outcomes = run.main(str(folder))
    return folder, "\n".join(printed), {outcome.task.name: outcome for outcome in outcomes}


def lacks_its_stack(found):
    endless = found[2]["algorithm"].attempts[0].result
    return endless.outcome == "timeout" and not endless.error.line


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """run_all() in a folder of its own."""
    return with_its_stack(lambda: run_all(tmp_path_factory.mktemp("agent")), lacks_its_stack)


def reasons(outcome):
    return [attempt.result.reason for attempt in outcome.attempts]


def test_conversion_is_answered_once_the_table_is_as_its_schema_says(ran):
    outcome = ran[2]["conversion"]
    assert len(outcome.attempts) == 3, reasons(outcome)
    missing, text, good = outcome.attempts
    assert missing.result.error.ename == "NameError"
    assert text.result.outcome == "ok" and not text.result.ok
    assert [check.check for check in text.result.checks if not check.ok] == ["result_json_schema"]
    assert good.result.ok and outcome.answer == "10.2 % on average, best on 2026-03-02"


def test_cleaning_is_answered_with_counts_and_the_file(ran):
    folder, _, outcomes = ran
    outcome = outcomes["cleaning"]
    assert len(outcome.attempts) == 2, reasons(outcome)
    wrong_column, good = outcome.attempts
    assert "mail" in wrong_column.result.reason and good.result.ok
    assert outcome.answer == "before: 85 rows, after: 60 rows"
    assert len((folder / "outputs" / "clean.csv").read_text().splitlines()) == 61


def test_top_five_is_answered_once_the_chart_is_there(ran):
    folder, _, outcomes = ran
    outcome = outcomes["top five"]
    assert len(outcome.attempts) == 3, reasons(outcome)
    wrong_column, no_file, good = outcome.attempts
    assert "amount" in wrong_column.result.reason
    assert no_file.result.outcome == "ok" and "top5.png" in no_file.result.reason
    assert good.result.ok and outcome.answer.startswith("Birch Bakery 36,639, ")
    assert (folder / "outputs" / "top5.png").read_bytes().startswith(b"\x89PNG")
    assert [(file.path, file.mime) for file in outcome.artifacts] == [("top5.png", "image/png")]


def test_algorithm_is_answered_once_its_tests_pass(ran):
    outcome = ran[2]["algorithm"]
    assert len(outcome.attempts) == 3, reasons(outcome)
    endless, wrong, good = outcome.attempts
    assert endless.result.outcome == "timeout" and endless.result.rolled_back
    assert wrong.result.error.ename == "AssertionError"
    assert good.result.ok and outcome.answer == "5 tests passed"


def test_exchange_rate_is_given_up_when_the_breaker_stops_it(ran):
    outcome = ran[2]["exchange rate"]
    assert len(outcome.attempts) == 4, reasons(outcome)
    refused, *tried, stopped = outcome.attempts
    assert refused.result.outcome == "refused" and "requests" in refused.result.reason
    assert len(tried) == 2
    assert all([row.syscall for row in attempt.result.denied] == ["connect"] for attempt in tried)
    assert stopped.result.error.ename == "BudgetExceeded"
    assert outcome.answer is None and outcome.artifacts == []


def test_task_is_given_up_after_three_repairs(ran):
    class Hopeless:
        def reply(self, prompt):
            return "1 / 0" if prompt.plan else "hope"

    with petri.Session() as session:
        outcome = agent.solve(session, Hopeless(), agent.Task("hopeless", "?"), "hopeless")
    assert [attempt.result.outcome for attempt in outcome.attempts] == ["error"] * 4
    assert outcome.answer is None


def test_prompt_has_question_plan_files_code_and_errors(ran):
    outcome = ran[2]["conversion"]
    text = str(agent.Prompt(outcome.task, outcome.plan, outcome.attempts[:1]))
    assert outcome.task.question in text and outcome.plan in text and "sales.csv" in text
    assert outcome.attempts[0].code in text and "name 'pd' is not defined" in text and "result_json_schema" in text
    assert "plan" in str(agent.Prompt(outcome.task))


@pytest.mark.parametrize(
    "reply", ["print(1)", "print(1)\n", "Here it is:\n```python\nprint(1)\n```\nGood luck.", "```\nprint(1)\n```"]
)
def test_code_is_found_in_a_reply(reply):
    assert agent.code_of(reply) == "print(1)\n"


def test_every_task_has_a_script():
    assert [task.name for task in tasks.TASKS] == list(tasks.SCRIPT)


def test_the_tutorial_shows_what_it_prints(ran):
    text = re.sub(r"^(attempt \d) +\d+\.\d s", r"\1   n.n s", ran[1], flags=re.MULTILINE)
    # Wherever in its endless loop it was.
    text = re.sub(r"(before\s+the\s+cell\.)\s+\(line [4-9]\)", r"\1 (line N)", text)
    text = re.sub(r"(exchange\s+rate) [0-9a-f]{8}", r"\1 <id>", text)
    settle(ROOT / "docs" / "tutorial-agents.md", "agent", fenced("", text))
