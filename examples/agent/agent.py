"""An agent in a page: plan, generate, policy check, run, validate, and answer, with at most three repairs.

It needs a model that writes code: any object with the method of Model. What the
code may do, what it cost and whether its result is what was asked for is never
the model's word: petri checks the policy before a run, holds the limits while
it runs, and validates afterwards from outside the sandbox.
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
    """What a model is asked: for a plan while there is none, then for code. str() is the text for a hosted model."""

    task: Task
    plan: str = ""
    attempts: Sequence[Attempt] = ()

    def __str__(self) -> str:
        lines = [f"Task: {self.task.question}", f"Files: {', '.join(self.task.files) or 'none'}"]
        if not self.plan:
            return "\n".join([*lines, "Answer with a plan in one line."])
        lines += [f"Plan: {self.plan}", f"The result is checked: {self.task.expect.request()}"]
        for attempt in self.attempts:
            lines += ["This code:", attempt.code, f"failed: {attempt.result.reason}"]
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
    """Has the model write code for a task until its result is as expected, it has had its repairs, or petri says stop.

    task_id: by which petri counts what the task has used. on_plan: is called with the plan. on_attempt: after each run.
    """
    plan = model.reply(Prompt(task)).strip()
    on_plan(plan)
    attempts: list[Attempt] = []
    for _ in range(1 + REPAIRS):
        code = code_of(model.reply(Prompt(task, plan, attempts)))
        result = session.run(code, files=task.files, expect=task.expect, limits=task.limits, task=task_id)
        attempts.append(Attempt(code, result))
        on_attempt(attempts[-1])
        if result.ok:
            return Outcome(task, plan, attempts, result.stdout.strip(), result.artifacts)
        if result.error and result.error.ename == "BudgetExceeded":
            break
    return Outcome(task, plan, attempts, None, [])
