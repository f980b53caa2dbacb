"""A process of the kernel's is killed, by hand or by Linux for want of memory: what is said is true, and what can go on does.

Each process below the kernel process is killed, and several at once, at each of several moments. A reply says that the
session is as it was, or that it is back before a cell: the next cell sees whether that is true.
"""

import os
import pathlib
import re
import signal

import pytest

from kernels import STUCK_S, wait_for
from processes import family, name_of, open_all, wait_for_end

KEEPERS = (
    "keeper of the cell",
    "keeper of the first state",
    "keeper of the state after [1]",
    "keeper of the state after [2]",
    "keeper of the state after [3]",
)
VICTIMS = [
    ("zygote",),
    ("cage",),
    *((keeper,) for keeper in KEEPERS),
    ("worker of the cell",),
    ("sandbox of the cell",),
    ("sandbox made ahead",),
    ("keeper of the state after [3]", "keeper of the cell"),
    ("keeper of the state after [3]", "keeper of the state after [2]", "worker of the cell"),
    KEEPERS,
]
AS_IT_WAS = "as it was before the cell"
ALL_LOST = {("zygote",), ("cage",), KEEPERS}
# What a cell would be blamed for, and what is no reason.
BLAME = re.compile(r"replaced|needs cleaning|no longer has|the cell changed|out of room")
REASON = re.compile(r"killed|was ended|has ended")


def age(pid):
    """Later processes have greater ones, also where ids have begun anew."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]), pid


def find(kernel):
    """The processes below the kernel process, by what they are; nothing before all are there that are made ahead."""
    members = family(kernel.pid)[2:]
    namespace = {pid: os.readlink(f"/proc/{pid}/ns/pid") for pid in members}
    names = {pid: name_of(pid) for pid in members}
    inits = sorted((pid for pid in members if names[pid] == "petri-init"), key=age)
    cage, *sandboxes = inits
    keepers = [pid for pid in members if namespace[pid] == namespace[cage] and pid != cage]
    keepers.sort(key=age)  # a cell has the memory that was there, and its image a copy
    zygotes = [pid for pid in members if names[pid] == "petri-zygote"]
    workers = [pid for pid in members if pid not in (*keepers, *inits, *zygotes)]
    own = [pid for pid in sandboxes if workers and namespace[pid] == namespace[workers[0]]]
    if [*map(len, (zygotes, workers, own, sandboxes, keepers))] != [1, 1, 1, 2, len(KEEPERS)]:
        return {}
    return {
        "zygote": zygotes[0],
        "cage": cage,
        **dict(zip(KEEPERS, keepers, strict=True)),
        "worker of the cell": workers[0],
        "sandbox of the cell": own[0],
        "sandbox made ahead": next(pid for pid in sandboxes if pid not in own),
    }


def look(kernel):
    """What there is of it after a turn of the kernel's loop; nothing while that is changing."""
    kernel.control("kernel_info_request")
    try:
        return find(kernel)
    except (OSError, ValueError):  # one of them has just ended
        return {}


def kill(kernel, victims):
    found = wait_for(lambda: (now := look(kernel)) and look(kernel) == now and now)
    # The first process of a namespace ends once those in it are reaped, and keepers are not before the next cell.
    ends = KEEPERS if victims in ALL_LOST else set(victims) & {*KEEPERS, "worker of the cell"}
    ended = open_all(found[name] for name in ends)
    for victim in victims:
        os.kill(found[victim], signal.SIGKILL)
    assert wait_for_end(ended, STUCK_S) == 0
    for pidfd in ended:
        os.close(pidfd)


def check_reply(cell):
    """What a reply that is not well says of the session; it is about a process that was killed."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join([cell.reply["evalue"], *cell.reply["traceback"]]))
    assert not BLAME.search(text), text
    assert REASON.search(text), text
    said = re.findall(r"; the session is (as it was before the cell|back before \[\d+\]|lost)", cell.reply["evalue"])
    assert len(said) == 1, text
    assert said != ["lost"] or "estart the kernel" in text, text
    return said[0]


def goes_on(kernel, x, said=AS_IT_WAS):
    """
    Whether the session goes on, of which x and the last reply are known: runs cells, three at most, up to the first
    that is well, which has to see what the replies before it have said.
    """
    for _ in range(3):
        cell = kernel.run("x")
        if cell.ok:
            assert int(cell.result) == (x if said == AS_IT_WAS else int(said.strip("back before[]")) - 1)
            return True
        now = check_reply(cell)
        said = said if now == AS_IT_WAS else now
    return False


@pytest.fixture
def kernel(patient, start):
    """A session in which the cell [n] has set x to n, up to 3."""
    kernel = start()
    for n in range(1, 4):
        kernel.good(f"x = {n}")
    return kernel


@pytest.fixture(params=VICTIMS, ids=" and ".join)
def victims(request):
    return request.param


def test_process_killed_while_the_kernel_is_idle_costs_no_cell_that_can_run(kernel, victims):
    kill(kernel, victims)
    assert goes_on(kernel, 3) == (victims not in ALL_LOST)


def test_process_killed_while_a_cell_runs_is_no_fault_of_the_cell(kernel, victims):
    request, messages = kernel.start_busy("while True: pass", before="x = 4")
    kill(kernel, victims)
    kernel.control("interrupt_request")
    cell = kernel.finish(request, messages)
    is_kept = cell.ename == "KeyboardInterrupt"
    said = AS_IT_WAS if is_kept else check_reply(cell)
    assert goes_on(kernel, 4 if is_kept else 3, said) == (victims not in ALL_LOST)


def test_cell_that_dies_after_its_state_says_where_the_session_is(kernel):
    request, messages = kernel.start_busy("while True: pass", before="x = 4")
    kill(kernel, ("keeper of the state after [3]", "worker of the cell"))
    cell = kernel.finish(request, messages)
    assert check_reply(cell) == "back before [3]"
    assert goes_on(kernel, 3, "back before [3]")


def test_completion_after_a_kill_is_answered_and_changes_nothing(kernel, victims):
    kill(kernel, victims)
    kernel.shell_reply(kernel.client.complete("x."))
    assert goes_on(kernel, 3) == (victims not in ALL_LOST)


def test_undo_after_a_kill_goes_where_it_says(kernel, victims):
    kill(kernel, victims)
    cell = kernel.run("%undo")
    said = AS_IT_WAS if cell.ok else check_reply(cell)
    assert goes_on(kernel, 2 if cell.ok else 3, said) == (victims not in ALL_LOST)


def test_branch_after_a_kill_is_true_and_changes_nothing(kernel, victims):
    kill(kernel, victims)
    branch = kernel.ask("x", {"from": "2", "commit": "branch"})
    if branch.ok:
        assert branch.result == "2"
    else:
        assert check_reply(branch) == AS_IT_WAS
    assert goes_on(kernel, 3) == (victims not in ALL_LOST)
