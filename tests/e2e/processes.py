"""What the host sees of a kernel: its processes, descriptors, namespaces, mounts and cgroups."""

import os
import pathlib
import select

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


def cgroups():
    """All cgroups of the machine."""
    return {folder for folder, _, _ in os.walk("/sys/fs/cgroup")}


def footprint(pid):
    """How many processes, descriptors and mounts a kernel has, and its cgroups' number."""
    members = family(pid)
    return {
        "processes": len(members),
        "descriptors": sum(len(os.listdir(f"/proc/{member}/fd")) for member in members),
        "mounts": sum(len(pathlib.Path(f"/proc/{member}/mountinfo").read_text().splitlines()) for member in members),
        "cgroups": len(cgroups()),
    }


def private_bytes(pid):
    """Memory that would be free if the process ended."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))
