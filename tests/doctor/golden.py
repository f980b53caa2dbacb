#!/usr/bin/env python3
"""What `petri doctor` says in every situation that it knows, in said/: compared with what it says now, or written.

    golden.py MACHINE LOG...   of each machine in SITUATIONS whose output is in a LOG; exit 1 where something differs

What show.sh prints is in a LOG: a text and a report in JSON for each situation of the machine. A machine that never came
to its end has failed, and so has a situation that it left out. With PETRI_WRITE_PAGES=1 the files are written anew.
"""

import difflib
import os
import pathlib
import re
import sys

SAID = pathlib.Path(__file__).resolve().parent / "said"

# By what makes them: functions of guest.sh, the parts of tests/vm/guest.sh, test_containers.py.
SITUATIONS = {
    "debian_11": ["old-kernel"],
    "debian_12": [
        "no-overlay", "no-overlay-mended", "root", "user", "userns-clone-0", "userns-clone-0-mended", "max-user-namespaces-0",
        "max-user-namespaces-0-mended", "yama-1", "yama-2", "yama-3",
    ],
    "debian_13": ["ubuntu-without-its-profile", "ubuntu", "ubuntu-mended"],
    "systemd": [
        "systemd-root", "systemd-login", "systemd-user-service", "systemd-stranger", "systemd-stranger-mended",
        "systemd-undelegated", "systemd-undelegated-mended",
    ],
    "podman": ["podman-root", "podman-user", "podman-options-root", "podman-options-user"],
}  # fmt: skip
FORMS = {"--text": "txt", "--json": "json"}

DOCUMENT = re.compile(
    r"^petri-doctor: begin (?P<name>\S+) (?P<form>--\w+)\n(?P<body>.*?)^petri-doctor: exit (?P<exit>\d+)$",
    re.MULTILINE | re.DOTALL,
)
FAILED = re.compile(r"^petri-doctor: failed: .*$", re.MULTILINE)
END = re.compile(r"^petri-doctor: end", re.MULTILINE)

# What differs from one machine to another and isn't the point: the rest of a kernel's release; where petri is.
MASKS = [
    (re.compile(r"\bLinux (\d+\.\d+)(?:[\w.+~-]*\w)?"), r"Linux \1"),
    (re.compile(r"/petri/build/petri\b"), "/usr/local/bin/petri"),
    (re.compile(r"/petri/src/worker\b"), "/usr/local/share/petri/worker"),
]


def masked(text, masks=()):
    for pattern, by in [*MASKS, *masks]:
        text = re.sub(pattern, by, text)
    return text


def difference(name, form, body, exit_status, masks=()):
    """What is said now and wasn't, as a diff; "" where nothing differs, or where it was written instead."""
    file = SAID / f"{name}.{FORMS[form]}"
    now = masked(body, masks)
    if form == "--text":
        now = f"$ petri doctor\n{now}[exit status {exit_status}]\n"
    if os.environ.get("PETRI_WRITE_PAGES") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(now, encoding="utf-8")
        return ""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    return "\n".join(
        difflib.unified_diff(before.splitlines(), now.splitlines(), f"said/{file.name}", "now", lineterm="")
    )


def mistakes(log, names, masks=()):
    """What is wrong with what a machine printed that was to show these situations."""
    log = log.replace("\r\n", "\n")
    found = {(match["name"], match["form"]): match for match in DOCUMENT.finditer(log)}
    for name, form in [(name, form) for name in names for form in FORMS]:
        match = found.pop((name, form), None)
        if match is None:
            yield f"{name} {form}: the machine did not show it"
        elif diff := difference(name, form, match["body"], match["exit"], masks):
            yield diff
    for name, form in found:
        yield f"{name} {form}: SITUATIONS does not have it"
    yield from FAILED.findall(log)
    if not END.search(log):
        yield "the machine did not come to its end"


def main(pairs):
    wrong = [
        f"{machine}: {mistake}"
        for machine, path in zip(pairs[::2], pairs[1::2], strict=True)
        for mistake in mistakes(pathlib.Path(path).read_text(encoding="utf-8", errors="replace"), SITUATIONS[machine])
    ]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if wrong:
        print("petri doctor says something else; PETRI_WRITE_PAGES=1 writes what it says now to tests/doctor/said")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
