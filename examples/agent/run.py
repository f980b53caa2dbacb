"""Has the agent solve its five tasks, and prints what a user would read.

usage: run.py [FOLDER]

The files that the code makes are copied to FOLDER/outputs (agent-run/outputs).
"""

import itertools
import pathlib
import secrets
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence

import petri_kernel as petri
from agent import POLICY, Attempt, Outcome, solve
from tasks import HOPELESS, TASKS, ScriptedModel

WIDTH = 100
LABEL = 19


def tell(what: str, text: str) -> None:
    """One line with a name before it, and the lines that it needs."""
    print(textwrap.fill(text, WIDTH, initial_indent=what.ljust(LABEL), subsequent_indent=" " * LABEL), flush=True)


def outcome_of(attempt: Attempt) -> str:
    """How an attempt went, in a word or three."""
    result = attempt.result
    return result.outcome if result.ok or result.outcome != "ok" else "not as expected"


def name_of(number: int) -> str:
    """What an attempt is called: the first one, or one of its repairs."""
    return f"repair {number}" if number else "attempt"


def tell_attempt(number: int, attempt: Attempt) -> None:
    """How an attempt went, in a line."""
    result = attempt.result
    line = f"line {result.error.line}" if result.error and result.error.line else ""
    where = f" ({line})" if line not in result.reason else ""
    why = f": {result.reason}{where}" if result.reason else ""
    denied = "".join(f"; denied: {row.syscall} {row.detail}" for row in result.denied if row.syscall == "connect")
    tell(f"{name_of(number):8} {(result.metrics.wall_ms or 0) / 1000:6.1f} s", outcome_of(attempt) + why + denied)


def tell_outcome(outcome: Outcome) -> None:
    """The answer and the files."""
    tell("answer", outcome.answer if outcome.answer is not None else "none: the task was given up")
    for artifact in outcome.artifacts:
        tell("file", f"{artifact.copied_to or artifact.refused} ({artifact.mime})")


def words_of(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """What is said of the state that an attempt has left, by its id."""
    return {
        str(attempt.result.image): f"{outcome.task.name}, {name_of(number)}: {outcome_of(attempt)}"
        for outcome in outcomes
        for number, attempt in enumerate(outcome.attempts)
    }


def tree(timeline: petri.Timeline, words: Mapping[str, str]) -> Iterator[str]:
    """The session's states as text: at the left the way to the present one, indented what was tried beside it.

    words: what is said of each state, in the order in which those that were made of one state are to stand.
    """
    parents = {image.image: image.parent for image in timeline.images}
    way, order = [timeline.current.image], list(words)
    while parent := parents.get(way[-1]):
        way.append(parent)

    def draw(image: str, before: str) -> Iterator[str]:
        now = " <- now" if image == timeline.current.image else ""
        yield before + words.get(image, "the beginning") + now
        children = [child for child in parents if parents[child] == image]
        for child in sorted(children, key=lambda child: (child in way, order.index(child))):
            yield from draw(child, before if child in way else before.replace("├─ ", "│  ") + "├─ ")

    return draw("first", "")


def main(folder: str = "agent-run") -> list[Outcome]:
    """Runs all tasks in one session; returns how they went."""
    pathlib.Path(folder).mkdir(exist_ok=True)
    model = ScriptedModel()
    outcomes = []
    with petri.Session(folder=folder, config=POLICY) as session:
        for task in TASKS:
            print()
            tell("task", task.question)
            number = itertools.count()
            outcome = solve(
                session,
                model,
                task,
                # What a task has used is in the run records, also tomorrow: each time it is another task.
                f"{task.name} {secrets.token_hex(4)}",
                lambda plan: tell("plan", plan),
                lambda attempt, number=number: tell_attempt(next(number), attempt),
            )
            tell_outcome(outcome)
            outcomes.append(outcome)
        print()
        for line in tree(session.timeline(), words_of(outcomes)):
            print(line, flush=True)
    return outcomes


if __name__ == "__main__":
    surprises = [outcome for outcome in main(*sys.argv[1:]) if (outcome.answer is None) != (outcome.task in HOPELESS)]
    for surprise in surprises:
        print(f"not as it was meant to be: {surprise.task.name}", file=sys.stderr)
    sys.exit(1 if surprises else 0)
