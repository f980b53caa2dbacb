"""examples/agent/: each task goes as its text says, and the tutorial shows what it really prints."""

import re
import sys

import pytest

from conftest import ROOT
from kernels import with_its_stack
from pages import fenced, settle

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
    assert len(outcome.attempts) == 4, reasons(outcome)
    missing, text, good, incomplete = outcome.attempts
    assert missing.result.error.ename == "NameError"
    assert text.result.outcome == "ok" and not text.result.ok
    assert [check.check for check in text.result.checks if not check.ok] == ["result_json_schema"]
    assert "'conversion' is a required property" in incomplete.result.reason
    assert good.result.ok and outcome.answer == "10.2 % on average, best on 2026-03-02"


def test_cleaning_is_answered_with_counts_and_the_file(ran):
    folder, _, outcomes = ran
    outcome = outcomes["cleaning"]
    assert len(outcome.attempts) == 4, reasons(outcome)
    wrong_column, good, wrong_again, no_file = outcome.attempts
    assert "mail" in wrong_column.result.reason and good.result.ok
    assert "e_mail" in wrong_again.result.reason and "clean.csv" in no_file.result.reason
    assert outcome.answer == "before: 85 rows, after: 60 rows"
    assert len((folder / "outputs" / "clean.csv").read_text().splitlines()) == 61


def test_top_five_is_answered_once_the_chart_is_there(ran):
    folder, _, outcomes = ran
    outcome = outcomes["top five"]
    assert len(outcome.attempts) == 4, reasons(outcome)
    wrong_column, no_file, good, wrong_again = outcome.attempts
    assert "amount" in wrong_column.result.reason and "total" in wrong_again.result.reason
    assert no_file.result.outcome == "ok" and "top5.png" in no_file.result.reason
    assert good.result.ok and outcome.answer.startswith("Birch Bakery 36,639, ")
    assert (folder / "outputs" / "top5.png").read_bytes().startswith(b"\x89PNG")
    assert [(file.path, file.mime) for file in outcome.artifacts] == [("top5.png", "image/png")]


def test_algorithm_is_answered_once_its_tests_pass(ran):
    outcome = ran[2]["algorithm"]
    assert len(outcome.attempts) == 4, reasons(outcome)
    endless, *wrong, good = outcome.attempts
    assert endless.result.outcome == "timeout" and endless.result.rolled_back
    assert [attempt.result.error.ename for attempt in wrong] == ["AssertionError"] * 2
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


class Repairs:
    """A model whose repairs are given, after a first attempt that fails."""

    def __init__(self, *repairs):
        self.repairs = repairs

    def reply(self, prompt):
        if not prompt.plan:
            return "hope"
        return self.repairs[prompt.repair - 1] if prompt.repair else "x = 'first'\n1 / 0"


def test_task_is_given_up_after_three_repairs_and_the_session_is_where_the_first_attempt_left_it():
    with petri.Session() as session:
        outcome = agent.solve(session, Repairs(*["x = 'repair'\n1 / 0"] * 3), agent.Task("hopeless", "?"), "hopeless")
        assert [attempt.result.outcome for attempt in outcome.attempts] == ["error"] * 4
        assert outcome.answer is None and session.run("x").result == "'first'"


def test_repairs_begin_where_the_first_attempt_ended_and_the_session_goes_on_from_the_best():
    model = Repairs("x += ' 1'\n1 / 0", "x += ' 2'\nprint(x)", "x += ' 3'\nprint(x)")
    with petri.Session() as session:
        outcome = agent.solve(session, model, agent.Task("any", "?"), "any repair")
        first, *repairs = [attempt.result for attempt in outcome.attempts]
        assert {result.parent for result in repairs} == {first.image}
        assert outcome.answer == "first 2" and session.timeline().current.image == repairs[1].image


def test_first_attempt_that_is_as_expected_has_no_repairs():
    with petri.Session() as session:
        model = Repairs()
        model.reply = lambda prompt: "print('done')" if prompt.plan and not prompt.repair else "plan"
        outcome = agent.solve(session, model, agent.Task("easy", "?"), "easy")
        assert (len(outcome.attempts), outcome.answer) == (1, "done")


def test_tree_has_the_way_to_the_present_state_at_the_left_and_the_rest_beside_it():
    parents = {"first": None, "b": "first", "a": "first", "c": "a", "d": "a", "e": "b"}
    images = tuple(petri.Image(image, parent) for image, parent in parents.items())
    words = {name: name.upper() for name in "abcde"}
    assert list(run.tree(petri.Timeline(images, images[3]), words)) == [
        "the beginning",
        "├─ B",
        "│  ├─ E",
        "A",
        "├─ D",
        "C <- now",
    ]


def test_prompt_has_question_plan_files_code_and_errors(ran):
    outcome = ran[2]["conversion"]
    text = str(agent.Prompt(outcome.task, outcome.plan, outcome.attempts[:1]))
    assert outcome.task.question in text and outcome.plan in text and "sales.csv" in text
    assert outcome.attempts[0].code in text and "name 'pd' is not defined" in text and "result_json_schema" in text
    assert "repair" not in text
    assert "repair 2 of 3" in str(agent.Prompt(outcome.task, outcome.plan, outcome.attempts[:1], 2))
    assert "plan" in str(agent.Prompt(outcome.task))


@pytest.mark.parametrize(
    "reply", ["print(1)", "print(1)\n", "Here it is:\n```python\nprint(1)\n```\nGood luck.", "```\nprint(1)\n```"]
)
def test_code_is_found_in_a_reply(reply):
    assert agent.code_of(reply) == "print(1)\n"


def test_states_that_are_told_are_those_of_the_attempts(ran):
    _, text, outcomes = ran
    told = text[text.index("the beginning") :].splitlines()
    left = [attempt.result.image for outcome in outcomes.values() for attempt in outcome.attempts]
    assert len(told) == 1 + sum(image is not None for image in left)
    assert [line for line in told if line.endswith("<- now")] == ["algorithm, repair 3: ok <- now"]


def test_every_task_has_a_script():
    assert [task.name for task in tasks.TASKS] == list(tasks.SCRIPT)
    assert {len(script) for script in tasks.SCRIPT.values()} == {2 + agent.REPAIRS}  # a plan and the first attempt, too


def test_the_tutorial_shows_what_it_prints(ran):
    text = re.sub(r"^(attempt |repair \d) +\d+\.\d s", r"\1    n.n s", ran[1], flags=re.MULTILINE)
    # Wherever in its endless loop it was.
    text = re.sub(r"(before\s+the\s+cell\.)\s+\(line [4-9]\)", r"\1 (line N)", text)
    text = re.sub(r"(exchange\s+rate) [0-9a-f]{8}", r"\1 <id>", text)
    settle(ROOT / "docs" / "tutorial-agents.md", "agent", fenced("", text))
