"""Writes docs/protocol.md: every probe asked of every kernel that is installed.

    python tests/surface/page.py [KERNELSPEC...] [--rows NAME...]

What is not asked stays as it is.
"""

import argparse
import re
import sys
from pathlib import Path

import ask
from jupyter_client.kernelspec import KernelSpecManager
from probes import PROBES, look

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"

# Kernelspec and the name in the page, which is that of a package but for ours; in the order of the columns.
KERNELS = {"python3": "ipykernel", "xpython": "xeus-python", "petri": "petri"}

HEAD = """# The protocol, row by row

`tests/surface/page.py` makes this page with the probes beside it, which ask each kernel
through jupyter_client. "yes" means that the probe found what it looks for; "no" means that
the kernel answered otherwise, or twice not within ten seconds. `make test` asks petri again
and fails if its column differs: the test of a row is
`tests/surface/test_surface.py`, `test_row_is_answered_as_the_page_says[name in the last column]`.

"""


def version_of(kernel):
    if kernel.name != "petri":
        return kernel.value(f"import importlib.metadata as m; m.version({KERNELS[kernel.name]!r})").strip("'")
    return kernel.ask("kernel_info_request").content["implementation_version"]


def asked(name, rows):
    """(version, {probe: "yes" or "no"}) of one kernel. rows: names of probes; none for all."""
    kernel = ask.Asked(name)
    try:
        found = {}
        for row in [row for row in PROBES if not rows or row.name in rows]:
            found[row.name] = look(kernel, row)
            if found[row.name] == "no":
                found[row.name] = look(kernel, row)  # it may only have been slow
            print(f"{name}: {row.name}: {found[row.name]}", file=sys.stderr, flush=True)
        return version_of(kernel), found
    finally:
        kernel.close()


def read():
    """What the page says: ({kernel: version}, {kernel: {probe: value}})."""
    versions, found = {}, {name: {} for name in KERNELS}
    text = PAGE.read_text() if PAGE.exists() else ""
    for line in text.splitlines():
        if match := re.fullmatch(r"- (\S+) (\S+)", line):
            versions.update({name: match[2] for name in KERNELS if KERNELS[name] == match[1]})
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 3 + len(KERNELS) and cells[-1].startswith("`"):
            for name, value in zip(KERNELS, cells[2:-1], strict=True):
                found[name][cells[-1].strip("`")] = value
    return versions, found


def rendered(versions, found):
    """The page's text."""
    lines = [f"- {KERNELS[name]} {versions[name]}" for name in KERNELS if name in versions]
    lines += ["", "| message | what | " + " | ".join(KERNELS.values()) + " | test |"]
    lines += ["|---|---|" + "---|" * len(KERNELS) + "---|"]
    for row in PROBES:
        values = [found[name].get(row.name, "-") for name in KERNELS]
        lines.append(f"| `{row.message}` | {row.what} | {' | '.join(values)} | `{row.name}` |")
    return HEAD + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", choices=[[], *KERNELS], help="those that are installed")
    parser.add_argument("--rows", nargs="*", default=[], help="all")
    options = parser.parse_args()
    installed = KernelSpecManager().find_kernel_specs()
    versions, found = read()
    for name in options.kernels or [name for name in KERNELS if name in installed]:
        versions[name], answers = asked(name, options.rows)
        found[name].update(answers)
    PAGE.write_text(rendered(versions, found))


if __name__ == "__main__":
    main()
