"""What petri wants to reach, and whether it does."""

import dataclasses
from collections.abc import Callable

import crowd
import measures
from peers import PEERS
from report import markdown, number_text


@dataclasses.dataclass(frozen=True)
class Goal:
    """A measure, what is wanted of it, the figure that is judged (from medians by kernel), and the judgement."""

    measure: str
    wanted: str
    figure: Callable
    is_reached: Callable


def beside(names, peer, wanted, is_reached):
    """A goal for each measure: how petri's median compares with a peer's."""
    for name in names:
        yield Goal(
            name,
            f"{wanted} of {PEERS[peer]}'s",
            lambda medians, name=name: medians["petri"][name] / medians[peer][name],
            is_reached,
        )


def at_most(ratio, *names, peer="python3"):
    return beside(names, peer, f"at most {ratio}", lambda figure: figure <= ratio)


def at_least(ratio, *names, peer="python3"):
    """For measures of which more is better."""
    return beside(names, peer, f"at least {ratio}", lambda figure: figure >= ratio)


def all_of(*names):
    """Of a measure in percent nothing is missing."""
    for name in names:
        yield Goal(name, "100 %", lambda medians, name=name: medians["petri"][name], lambda figure: figure == 100)


def costs_at_most(ms, name, base):
    """What petri needs longer than for another measure."""
    yield Goal(
        name,
        f"at most {ms} ms more than {base}",
        lambda medians: medians["petri"][name] - medians["petri"][base],
        lambda figure: figure <= ms,
    )


GOALS = [
    *at_most(0.4, measures.START, measures.FIRST),
    *at_most(0.8, measures.PASS),
    *at_most(1, measures.PASS, peer="xpython"),
    *at_most(0.5, measures.PASS_PAUSED),
    *at_most(0.9, measures.PASS_LIBRARIES),
    *at_most(1.3, measures.PASS_DICTS),
    *at_most(0.85, measures.PASS_FOLDERS, measures.PASS_FILES),
    *costs_at_most(1, measures.PASS_GIGABYTE, measures.PASS),
    *at_most(0.9, measures.DESCRIBE),
    *at_most(2.5, measures.IN_PLACE),
    *at_most(1.5, measures.COMPLETE, *measures.COMPLETED_IN_LIBRARIES, measures.INSPECT),
    *at_most(0.1, measures.COMPLETE_BUSY),
    *at_most(1, measures.PRINTS),
    *all_of(measures.PRINTS_ARRIVED),
    *at_least(1, measures.PRINT),
    *all_of(measures.PRINT_ARRIVED),
    *at_most(1.15, measures.MEMORY_LIBRARIES),
    *at_most(1.2, crowd.READY, crowd.PEAK),
]


def judge(goal, medians):
    """The figure as a text, and the verdict."""
    try:
        figure = goal.figure(medians)
    except KeyError:
        return "-", "not measured"
    return number_text(figure), "reached" if goal.is_reached(figure) else "NOT reached"


def table(medians):
    """A line for each goal."""
    rows = [[goal.measure, goal.wanted, *judge(goal, medians)] for goal in GOALS]
    return markdown(["goal", "wanted", "found", ""], rows, numbers=False)
