"""What three students hand in for examples/course: one right, one with mistakes, one who means harm."""

import nbformat

RIGHT = {
    "look-count": "number = rides.shape[0]",
    "look-mean": 'usual = rides.minutes.median()\nlongest = rides["minutes"].max()',
    "look-rain": 'wet = (rides["rain"] == "yes").sum()',
    "group-count": 'by_station = rides["station"].value_counts()\nby_station',
    "group-mean": 'by_member = rides.groupby("member").minutes.mean()',
    "group-draw": 'figure, axes = plt.subplots()\nby_station.plot.bar(ax=axes)\naxes.set_ylabel("rides")',
    "function-hours": """
def as_text(minutes):
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02} min" if hours else f"{rest} min"
""",
    "function-busiest": """
def busiest(rides, n):
    return rides["station"].value_counts().index[:n].tolist()
""",
    "function-share": """
def share(rides, station):
    members = rides[rides["station"] == station]["member"] == "yes"
    return members.mean() if len(members) else 0
""",
}

# Right for the tests that students see; the hidden ones tell.
WRONG = {
    **RIGHT,
    "look-mean": 'usual = rides["minutes"].mean()\nlongest = rides["minutes"].max()',
    "group-draw": "figure, axes = plt.subplots()\nby_station.plot.bar(ax=axes)",
    "function-share": """
def share(rides, station):
    return (rides[rides["station"] == station]["member"] == "yes").mean()
""",
}

# Instead of an answer, which costs its points; the other answers are right.
HOSTILE = {
    **RIGHT,
    "look-mean": "while True: pass",
    "group-draw": "hoard = [b'x']\nwhile True: hoard.append(bytes([len(hoard) % 255 + 1]) * (16 << 20))",
    # The test calls it, and ends with the process: no output is no success.
    "function-busiest": "import os\n\ndef busiest(rides, n):\n    os._exit(0)\n",
}

# And cells beside the answers, by the id that they get: the cell that they stand before, code, and how they end.
ATTACKS = {
    "exit": ("look-count", "import os\nos._exit(0)", "CellCrashed"),
    "kill": ("look-rain", "import os\nos.kill(-1, 9)", "ProcessLookupError"),
    "shadow": ("group-count", "print(open('/etc/shadow').read())", "FileNotFoundError"),
    "network": (
        "group-mean",
        "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)",
        "OSError",
    ),
    "change": ("function-hours", "open('/srv/class/data/rides.csv', 'a').write('2026-05-31,Market')", "OSError"),
    "remove": ("function-share", "import os\nos.remove('/srv/class/data/rides.csv')", "OSError"),
    "solutions": (
        "function-share",
        "print(open('../../../source/function/function.ipynb').read())",
        "FileNotFoundError",
    ),
}

POINTS = {
    "right": {"look": 8, "group": 10, "function": 10},
    "wrong": {"look": 5, "group": 6, "function": 6},
    "hostile": {"look": 5, "group": 6, "function": 7},
}


def fill(answers):
    """What fills a student's answers into a notebook."""

    def work(notebook):
        for cell in notebook.cells:
            cell.source = answers.get(cell.id, cell.source)

    return work


def fill_for_another_kernel(answers):
    """The same, and the notebook asks to be graded with a kernel of the student's choice."""

    def work(notebook):
        fill(answers)(notebook)
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}

    return work


def attack(own):
    """The same for who means harm; own(text) has the place's paths."""

    def work(notebook):
        fill(HOSTILE)(notebook)
        for name, (before, code, _) in ATTACKS.items():
            found = [number for number, cell in enumerate(notebook.cells) if cell.id == before]
            for number in found:
                notebook.cells.insert(number, nbformat.v4.new_code_cell(own(code), id=name))

    return work
