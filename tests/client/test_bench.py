"""What bench/ measures is complete, judged as its goals say, and never taken from a reply that failed."""

import contextlib
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.append(str(ROOT / "bench"))

import crowd  # noqa: E402
import goals  # noqa: E402
import measures  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import travel  # noqa: E402

KINDS = ("petri", "python3", "xpython")


@pytest.fixture(scope="module")
def run():
    """bench/run.py; another folder of tests has a module of that name."""
    spec = importlib.util.spec_from_file_location("bench_run", ROOT / "bench" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Pretender:
    """Says that it is a kernel, and answers everything at once."""

    spawned = 0.0

    def __init__(self, name, folder, arguments=(), connect_at_once=False):
        self.name = name

    def run(self, code):
        return 0.001, len(code)

    def show(self, code):
        return 0.001

    def restart(self):
        pass

    def footprint(self):
        return 2**20, 1

    def messages_of(self, request):
        return [{"msg_type": "stream"}]

    def nothing(self, *_, **__):
        pass

    close = kernel_info = reply = wait_for_iopub = complete = inspect = send = shell_reply = nothing


@pytest.fixture(scope="module")
def petri(tmp_path_factory):
    with contextlib.closing(peers.Peer("petri", str(tmp_path_factory.mktemp("notebooks")))) as peer:
        peer.wait_for_iopub()
        yield peer


def equal_medians(value):
    """Of a run in which every measure of every kernel was the same."""
    return {kind: dict.fromkeys([*measures.MEASURES, *crowd.MEASURES], value) for kind in KINDS}


def verdicts(medians, measure):
    return [goals.judge(goal, medians)[1] for goal in goals.GOALS if goal.measure == measure]


def test_sections_take_each_measure_and_no_other(monkeypatch, tmp_path):
    monkeypatch.setattr(measures, "Peer", Pretender)
    monkeypatch.setattr(measures.time, "sleep", lambda _: None)
    found = {}
    for section in (*measures.SECTIONS, *measures.LARGE_SECTIONS):
        folder = tmp_path / section.__name__
        folder.mkdir()
        found |= section("petri", folder, 10)
    assert sorted(found) == sorted(measures.MEASURES)
    assert [measure for measure, values in found.items() if not values] == []


def test_folders_and_files_of_the_notebook_are_as_many_as_the_rows_say():
    folders = pathlib.Path(measures.folder_of_folders().name)
    files = pathlib.Path(measures.folder_of_files().name)
    assert sum(path.is_dir() for path in folders.rglob("*")) == 5000
    assert sum(path.is_file() for path in files.iterdir()) == 10_000


def test_each_goal_is_judged_where_all_was_measured():
    judged = [goals.judge(goal, equal_medians(100))[1] for goal in goals.GOALS]
    assert set(judged) == {"reached", "NOT reached"}


def test_goal_of_a_ratio_is_reached_up_to_it():
    medians = equal_medians(1)
    medians["petri"][measures.PASS_LIBRARIES] = 0.9
    assert verdicts(medians, measures.PASS_LIBRARIES) == ["reached"]
    medians["petri"][measures.PASS_LIBRARIES] = 0.91
    assert verdicts(medians, measures.PASS_LIBRARIES) == ["NOT reached"]


def test_goal_of_a_cost_is_beside_petri_itself():
    medians = equal_medians(3)
    medians["petri"][measures.PASS_GIGABYTE] = 4
    assert verdicts(medians, measures.PASS_GIGABYTE) == ["reached"]
    medians["petri"][measures.PASS_GIGABYTE] = 4.1
    assert verdicts(medians, measures.PASS_GIGABYTE) == ["NOT reached"]


def test_goal_of_output_is_missed_where_a_line_is_missing():
    medians = equal_medians(99.9)
    assert verdicts(medians, measures.PRINTS_ARRIVED) == ["NOT reached"]


def test_goal_without_its_peer_is_said_not_to_be_measured():
    medians = equal_medians(1)
    del medians["xpython"]
    assert verdicts(medians, measures.PASS) == ["NOT reached", "not measured"]


def test_table_shows_percentiles_of_many_values_and_ratios_of_medians(run):
    values = run.Values(KINDS)
    for kind, factor in zip(KINDS, (1, 2, 4), strict=True):
        for part in (range(0, 50), range(50, 101)):  # two rounds
            values.add(kind, {measures.PASS: [factor * value for value in part]})
        values.add(kind, {measures.PRINTS: [factor]})
    values.add("petri", {crowd.READY: [3]})
    medians = values.summary(statistics.median)
    percentiles = values.summary(lambda found: report.percentile(found, 95), report.MANY)
    assert run.table(medians, percentiles).splitlines()[2:] == [
        "| pass, back to back, ms | 50 / 95 | 100 / 190 | 200 / 380 | 0.50 | 0.25 |",
        "| 100,000 prints, s | 1 | 2 | 4 | 0.50 | 0.25 |",
        f"| {crowd.READY}, s | 3 | - | - | - | - |",
    ]


def test_order_of_kernels_turns_from_round_to_round(run):
    assert [run.turned(KINDS, number)[0] for number in range(4)] == [*KINDS, KINDS[0]]


def test_cell_that_raises_is_not_measured(petri):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        petri.run("1 / 0")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        petri.reply("1 / 0")


def test_result_that_is_not_shown_is_not_measured(petri):
    with pytest.raises(RuntimeError, match="has shown nothing"):
        petri.show("None")
    assert petri.show("1") > 0


def test_completion_without_matches_is_not_measured(petri):
    with pytest.raises(RuntimeError, match="has no completions"):
        petri.complete("no_such_name_here.")


def test_reply_that_overtakes_another_is_kept_for_who_asks(petri):
    first = petri.send("pass")
    second = petri.send("pass")
    assert petri.shell_reply(second)["status"] == petri.shell_reply(first)["status"] == "ok"


def test_footprint_counts_all_processes_below_the_kernel(petri):
    memory, processes = petri.footprint()
    assert memory > 2**20
    assert processes > 1


def test_process_that_has_ended_has_no_memory():
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert peers.pss_bytes(process.pid) == 0
    process.wait()


def test_sections_of_time_travel_take_each_measure_and_no_other(monkeypatch):
    monkeypatch.setattr(travel, "Peer", Pretender)
    monkeypatch.setattr(travel, "has_kishu", lambda: True)
    monkeypatch.setattr(travel.time, "sleep", lambda _: None)
    found = travel.measure_all(2, 10)
    assert list(found) == list(travel.MEASURES)
    assert len(found[travel.UNDO]) == 20 and len(found[travel.KEPT]) == 2
    monkeypatch.setattr(travel, "has_kishu", lambda: False)
    without = travel.measure_all(1, 10)
    assert set(found) - set(without) == {travel.CHECKOUT, travel.TOUCHED["kishu"]}
    assert f"| {travel.CHECKOUT}, ms | not measured |" in travel.table(without)


def test_way_back_that_does_not_lead_back_is_not_measured(petri):
    petri.run("x = 1")
    assert len(travel.back_ms(petri, 2, ("%undo", None), ("assert x == 1", None), step="x = 2")) == 2
    with pytest.raises(RuntimeError, match="AssertionError"):
        travel.back_ms(petri, 1, ("pass", None), ("assert x == 1", None), step="x = 2")


def test_kernel_that_is_started_anew_has_no_state(tmp_path):
    with contextlib.closing(peers.Peer("petri", str(tmp_path))) as peer:
        peer.run("x = 1")
        peer.restart()
        with pytest.raises(RuntimeError, match="NameError"):
            peer.reply("x")


def test_crowd_takes_each_of_its_measures(monkeypatch):
    for name, value in (("STARTED", 2), ("WORKING", 2), ("CELLS", 2), ("FIRST", "pass")):
        monkeypatch.setattr(crowd, name, value)
    found = crowd.measure("petri")
    assert list(found) == list(crowd.MEASURES)
    assert len(found[crowd.CELL]) == 4


def test_kernel_that_fails_in_a_crowd_ends_the_measurement():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"), crowd.Crowd("petri", 2) as a_crowd:
        a_crowd.start("1 / 0")
