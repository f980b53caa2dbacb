"""An agent in a page: plan, generate, policy check, run, validate, three repairs at once, and answer.

It needs a model that writes code: any object with the method of Model. What the
code may do, what it cost and whether its result is what was asked for is never
the model's word: petri checks the policy before a run, holds the limits while
it runs, and validates afterwards from outside the sandbox. Repairs run beside
each other, each from the state that the first attempt has left.
"""

import dataclasses
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import petri_kernel as petri

REPAIRS = 3

# What code is refused for before it runs: early and friendly, for the sandbox has no network anyway.
POLICY = {"refuse": {"imports": ["requests", "ctypes"]}}


@dataclasses.dataclass(frozen=True)
class Task:
    """What a user wants.

    files: what the code gets, by name. expect: what has to come of it. limits: as Session.run() takes them; those of
    the task as a whole (runs, budget) are its circuit breaker.
    """

    name: str
    question: str
    files: Mapping[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    expect: petri.Expect = petri.Expect()
    limits: Mapping[str, str | int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Attempt:
    """Code that was run, and what came of it."""

    code: str
    result: petri.Result


@dataclasses.dataclass(frozen=True)
class Prompt:
    """What a model is asked: for a plan while there is none, then for code. str() is the text for a hosted model.

    repair: which one of the repairs it is asked for, from 1; 0 for the first attempt.
    """

    task: Task
    plan: str = ""
    attempts: Sequence[Attempt] = ()
    repair: int = 0

    def __str__(self) -> str:
        lines = [f"Task: {self.task.question}", f"Files: {', '.join(self.task.files) or 'none'}"]
        if not self.plan:
            return "\n".join([*lines, "Answer with a plan in one line."])
        lines += [f"Plan: {self.plan}", f"The result is checked: {self.task.expect.request()}"]
        for attempt in self.attempts:
            lines += ["This code:", attempt.code, f"failed: {attempt.result.reason}"]
        if self.repair:
            lines.append(f"This is repair {self.repair} of {REPAIRS}: each is another way to do it.")
        return "\n".join([*lines, "Answer with Python code that prints the answer."])


class Model(Protocol):
    """What writes the plans and the code. Here it is scripted; put a hosted one in its place."""

    def reply(self, prompt: Prompt) -> str:
        """The answer to a prompt: a line of text, or code, which may stand in a ``` block."""
        ...


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a task went. answer: what the code printed, or None where the task was given up."""

    task: Task
    plan: str
    attempts: Sequence[Attempt]
    answer: str | None
    artifacts: Sequence[petri.Artifact]


def code_of(reply: str) -> str:
    """The code in a reply: its first ``` block, or all of it."""
    block = re.search(r"```[a-z]*\n(.*?)```", reply, re.DOTALL)
    return (block[1] if block else reply).strip() + "\n"


def solve(
    session: petri.Session,
    model: Model,
    task: Task,
    task_id: str,
    on_plan: Callable[[str], None] = lambda plan: None,
    on_attempt: Callable[[Attempt], None] = lambda attempt: None,
) -> Outcome:
    """Has the model write code for a task and, where its result is not as expected, three repairs, which run at once.

    The session goes on from the first repair whose result is as expected; where none is, from the first attempt.

    task_id: by which petri counts what the task has used. on_plan: is called with the plan. on_attempt: with each run.
    """
    plan = model.reply(Prompt(task)).strip()
    on_plan(plan)
    code = code_of(model.reply(Prompt(task, plan)))
    first = session.run(code, files=task.files, expect=task.expect, limits=task.limits, task=task_id)
    attempts = [Attempt(code, first)]
    on_attempt(attempts[0])
    if first.ok:
        return Outcome(task, plan, attempts, first.stdout.strip(), first.artifacts)
    codes = [code_of(model.reply(Prompt(task, plan, attempts, repair))) for repair in range(1, 1 + REPAIRS)]
    found = session.best_of(codes, keep=True, files=task.files, expect=task.expect, limits=task.limits, task=task_id)
    repairs = list(map(Attempt, codes, found.results))
    for repair in repairs:
        on_attempt(repair)
    if found.best is None:
        return Outcome(task, plan, attempts + repairs, None, [])
    return Outcome(task, plan, attempts + repairs, found.best.stdout.strip(), found.best.artifacts)
