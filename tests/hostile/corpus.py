"""The hostile cells, each with what must come of it.

cases.json holds code by name; EXPECT says how each may end. `more_*.py` add
cells that bring their expectations along.
"""

import dataclasses
import json
import pathlib

HERE = pathlib.Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Case:
    """One hostile cell."""

    name: str
    code: str
    outcomes: frozenset  # of the report; any of these
    enames: frozenset = frozenset()  # of the reply where the outcome is "error"; empty: any
    denied: str = ""  # a system call that the report must name as refused
    limits: dict = dataclasses.field(default_factory=dict)  # beside the usual ones
    stdout: str = ""  # what must be in its output
    silent_about: tuple = ()  # what must not be in its output
    needs: str = ""  # a package
    interrupt: bool = False  # as soon as it has printed "started"
    content: dict = dataclasses.field(default_factory=dict)  # other fields of the request
    setup: str = ""  # a cell before it that has to go well
    restore: str = ""  # a cell after it that puts right what it has kept and may keep
    then: str = ""  # a cell after it that has to go well
    fills: bool = False  # what it has left can't be removed in a cell: a new session follows
    owns: bool = False  # it may spoil its own session for good: after it only the kernel must be well


def case(name, code, outcomes, enames="", **fields):
    """A Case; outcomes and enames: words, of which any will do."""
    return Case(name, code.strip("\n"), frozenset(outcomes.split()), frozenset(enames.split()), **fields)


BRIEF = {"timeout": "400ms"}  # for what ends by its time-out in any case


EXPECT = {
    # On all its processors it has used up its CPU time in the moment in which its time is over.
    "fork_bomb": {"outcomes": "error timeout cpu memory", "enames": "BlockingIOError"},
    "mem_touch": {"outcomes": "error memory", "enames": "MemoryError"},
    "mem_overcommit": {"outcomes": "error", "enames": "OSError"},
    "shm_bomb": {"outcomes": "error memory", "enames": "MemoryError OSError"},
    "disk_bomb": {"outcomes": "error memory", "enames": "OSError"},
    "sparse": {"outcomes": "ok error", "enames": "OSError"},
    "deep_dir": {"outcomes": "ok error timeout crash", "enames": "OSError"},
    "out_flood": {"outcomes": "timeout", "limits": BRIEF},
    "out_fd": {"outcomes": "timeout", "limits": BRIEF},
    "mime_bomb": {"outcomes": "timeout", "limits": BRIEF},
    "repr_bomb": {"outcomes": "ok error memory", "enames": "MemoryError"},
    "cpu_loop": {"outcomes": "timeout", "limits": BRIEF},
    "c_loop": {"outcomes": "timeout", "limits": BRIEF},
    "ign_term": {"outcomes": "timeout", "limits": BRIEF},
    "sigstop_self": {"outcomes": "timeout", "limits": BRIEF},
    "kill_all": {"outcomes": "ok error", "enames": "ProcessLookupError"},
    "kill_pid1": {"outcomes": "ok error", "enames": "PermissionError"},
    "daemon": {"outcomes": "ok"},
    "exit0": {"outcomes": "crash"},
    "sysexit": {"outcomes": "error", "enames": "SystemExit"},
    "segv": {"outcomes": "crash"},
    "abort": {"outcomes": "crash"},
    "read_shadow": {"outcomes": "error", "enames": "FileNotFoundError PermissionError"},
    "proc_mem": {"outcomes": "error", "enames": "FileNotFoundError PermissionError OSError"},
    "self_mem": {"outcomes": "error", "enames": "OSError PermissionError"},
    "sysrq": {"outcomes": "error", "enames": "FileNotFoundError PermissionError OSError"},
    "cg_mkdir": {"outcomes": "error", "enames": "FileNotFoundError PermissionError OSError"},
    "userns": {"outcomes": "ok", "denied": "unshare"},
    "clone_newuser": {"outcomes": "ok", "denied": "clone"},
    "mount": {"outcomes": "ok", "denied": "mount"},
    "chroot": {"outcomes": "error", "enames": "PermissionError", "denied": "chroot"},
    "ptrace": {"outcomes": "ok", "denied": "ptrace"},
    "vm_readv": {"outcomes": "ok", "denied": "process_vm_readv"},
    "iouring": {"outcomes": "ok"},
    "bpf": {"outcomes": "ok", "denied": "bpf"},
    "keyctl": {"outcomes": "ok", "denied": "add_key"},
    "int80": {"outcomes": "crash"},
    "tiocsti": {"outcomes": "error", "enames": "OSError"},
    "raise_rlim": {"outcomes": "error", "enames": "ValueError PermissionError"},
    "suid_bin": {"outcomes": "ok error", "enames": "PermissionError", "silent_about": ("euid=0", "uid=0(")},
    "mknod": {"outcomes": "error", "enames": "PermissionError", "denied": "mknodat"},
    "net_tcp": {"outcomes": "error", "enames": "OSError", "denied": "connect"},
    "net_meta": {"outcomes": "error", "enames": "OSError", "denied": "connect"},
    "zmq_ports": {"outcomes": "ok timeout"},
    "vsock": {"outcomes": "error", "enames": "OSError", "denied": "socket"},
    "af_alg": {"outcomes": "error", "enames": "OSError", "denied": "socket"},
    "fd_scan": {"outcomes": "ok"},
    "env_steal": {
        "outcomes": "ok",
        "stdout": "'JPY_PARENT_PID': '1'",  # which says nothing of the host
        "silent_about": ("JUPYTER", "JPY_SESSION_NAME", "JPY_API_TOKEN", "SSH_"),
    },
    "hmac_key": {"outcomes": "ok error timeout", "limits": {"timeout": "10s"}},
    "sym_art": {"outcomes": "ok"},
    "fifo_art": {"outcomes": "ok"},
    "badutf": {"outcomes": "ok"},
    "longname": {"outcomes": "ok"},
    "dotdot": {"outcomes": "ok"},
    "zipbomb": {"outcomes": "error memory", "enames": "MemoryError"},
    "manyart": {"outcomes": "error timeout", "enames": "OSError", "limits": {"timeout": "20s"}, "fills": True},
    "chmod0": {"outcomes": "ok"},
    "thread_left": {"outcomes": "ok", "owns": True},
    "atexit": {"outcomes": "ok"},
    "omp_after_rb": {"outcomes": "ok", "limits": {"timeout": "60s", "memory": "1G"}, "needs": "sklearn"},
    "rng_dup": {"outcomes": "ok"},
}


# What Linux has to withstand, its control groups and its overlays, and not Python or the wire: for where it is another
# Linux that is to be tried.
FOR_LINUX = frozenset(
    """
    fork_bomb shell_fork_bomb threads_without_end daemon kill_all kill_pid1 sigstop_self
    clone3 clone_newuser clone_vm_child_writes_on vfork_holds_parent
    mem_touch shm_bomb disk_bomb page_tables memfd memfd_after_an_earlier_one shared_anonymous cpu_of_children
    memory_of_children memory_without_a_first_thread child_without_a_first_thread image_offered_to_the_oom_killer
    read_shadow proc_mem self_mem sysrq proc_sys oom_score uid_map root_of_pid_1 setns_of_pid_1 cg_mkdir release_agent
    userns mount chroot mknod ptrace iouring int80 raise_rlim
    deep_dir sparse chmod0 suid_bin sym_art fifo_art badutf longname
    """.split()
)


def from_file():
    """The cells of cases.json; a name without an expectation, or the other way round, is an error."""
    codes = json.loads((HERE / "cases.json").read_text())
    assert codes.keys() == EXPECT.keys(), codes.keys() ^ EXPECT.keys()
    return [case(name, code, **EXPECT[name]) for name, code in codes.items()]
