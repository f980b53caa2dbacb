"""What the host sees of a kernel: its processes, descriptors, namespaces, mounts and cgroups."""

import contextlib
import os
import pathlib
import re
import select
import time

# For so long, and so many times, a footprint is the same at rest: who was sent SIGKILL lives until it gets a processor.
REST_S = 2
REST_TIMES = 10

NAMESPACES = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"]


def parents():
    """Every process of the machine with its parent's id."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path("/proc", entry, "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    return found


def family(pid):
    """A process and all its descendants, as the host numbers them."""
    parent_of = parents()
    found = [pid]
    for member in found:
        found += [child for child, parent in parent_of.items() if parent == member]
    return found


def name_of(pid):
    """The program of a process; nothing for one that has just ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def held_bytes(pid):
    """The memory of a process and all its descendants; what several have counts once."""
    total = 0
    for member in family(pid):
        with contextlib.suppress(OSError):
            lines = pathlib.Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def open_all(pids):
    """Descriptors of processes; one that has just ended needs none."""
    found = []
    for pid in pids:
        try:
            found.append(os.pidfd_open(pid))
        except ProcessLookupError:
            continue
    return found


def open_family(pid):
    """Descriptors of a process and all its descendants, as above."""
    return open_all(family(pid))


def namespace_ids(pid="self"):
    return {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in NAMESPACES}


def open_namespaces(pid):
    """Descriptors that keep a process's namespaces, and so their numbers, from being used again."""
    return [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in NAMESPACES]


def find_by_namespaces(ids):
    """A process that has exactly these namespaces."""
    for pid in parents():
        try:
            if namespace_ids(pid) == ids:
                return pid
        except OSError:
            continue
    raise AssertionError(f"no process has the namespaces {ids}")


def wait_for_end(pidfds, stuck_s):
    """Waits until each of the processes has ended; returns how many have not."""
    poller = select.poll()
    waiting = set(pidfds)
    for pidfd in waiting:
        poller.register(pidfd, select.POLLIN)
    while waiting:
        events = poller.poll(stuck_s * 1000)
        if not events:
            break
        for pidfd, _ in events:
            poller.unregister(pidfd)
            waiting.discard(pidfd)
    return len(waiting)


def cgroups(members):
    """Every cgroup of the kernel that these processes belong to, those without a process too."""
    names = set()
    for member in members:
        names.update(re.findall(r"/(petri-\d+-\d+)-", pathlib.Path(f"/proc/{member}/cgroup").read_text()))
    return [
        os.path.join(folder, name)
        for folder, children, _ in os.walk("/sys/fs/cgroup")
        for name in children
        if any(name == own or name.startswith(own + "-") for own in names)
    ]


def place_of(pid):
    """The control group of a process where it is one that fresh runs have beside others; else nothing."""
    found = re.search(r"/petri-\d+-\d+-beside-\d+", pathlib.Path(f"/proc/{pid}/cgroup").read_text())
    return found and found.group()


def is_zombie(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def footprint(pid):
    """How many living processes, descriptors, mounts and cgroups a kernel has; None while that is changing."""
    members = family(pid)
    host = os.readlink("/proc/self/ns/mnt")  # the kernel process has it: what others mount there is not the kernel's
    try:
        living = [member for member in members if not is_zombie(member)]
        sandboxed = [member for member in living if os.readlink(f"/proc/{member}/ns/mnt") != host]
        return {
            "processes": len(living),
            "descriptors": sum(len(os.listdir(f"/proc/{member}/fd")) for member in living),
            "mounts": sum(
                len(pathlib.Path(f"/proc/{member}/mountinfo").read_text().splitlines()) for member in sandboxed
            ),
            "cgroups": len(cgroups(living)),
        }
    except OSError:
        return None  # one of them has just ended


def at_rest(kernel, stuck_s):
    """The footprint once it stays the same: what is prepared ahead is prepared, and what has been ended is gone."""
    begin = since = time.monotonic()
    last, times = None, 0
    while last is None or times < REST_TIMES or time.monotonic() - since < REST_S:
        assert time.monotonic() - begin < stuck_s, f"never at rest: {last}"
        kernel.control("kernel_info_request")
        time.sleep(0.01)
        now = footprint(kernel.pid)
        times += 1
        if now != last:
            last, since, times = now, time.monotonic(), 1
    return last


def beyond(kernel, before, stuck_s):
    """
    Of what a kernel at rest has more than before: how much before, and now; waits until it has no more. It may have
    less: before, something that had been ended could have been there still.
    """
    deadline = time.monotonic() + stuck_s
    while True:
        now = at_rest(kernel, stuck_s)
        more = {what: (before[what], now[what]) for what in before if now[what] > before[what]}
        if not more or time.monotonic() > deadline:
            return more


def zombies(pid):
    """How many of a kernel's processes have ended and still wait to be reaped."""
    found = 0
    for member in family(pid):
        with contextlib.suppress(OSError):  # it has just been reaped
            found += is_zombie(member)
    return found


def private_bytes(pid):
    """Memory that a process has written and shares with nobody. What it has of files changes as others use them."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_Dirty:"))
