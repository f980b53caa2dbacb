"""The list of what petri shows otherwise than ipykernel: differences.json, which is exact.

    {NOTEBOOK: [{"cell": N, "shown": FIELD, "petri": TEXT, "ipykernel": TEXT, "section": HEADING}]}

The texts are the lines that differ, or a hash where they are many. Whatever differs does so by
design: HEADING is that of docs/fidelity.md that says so.

Where two runs of ipykernel differ too, a cell has a row {"cell": N, "chance": SENTENCE}, and
no more of it is compared than its status and its MIME types.
"""

import difflib
import fcntl
import hashlib
import json
import pathlib
import re

from shown import FIELDS

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "differences.json"
PAGE = HERE.parents[1] / "docs" / "fidelity.md"

MUCH = 800  # characters of a text beyond which its hash is listed


def read_list():
    return json.loads(LIST.read_text(encoding="utf-8"))


def change_list(notebook, change):
    """Puts change(the notebook's rows) in their place; several processes may do so."""
    with LIST.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        listed = json.load(file)
        if rows := change(listed.pop(notebook, [])):
            listed[notebook] = rows
        file.seek(0)
        file.truncate()
        file.write(json.dumps(dict(sorted(listed.items())), indent=1, ensure_ascii=False) + "\n")


def sections():
    return re.findall(r"(?m)^## (.+)$", PAGE.read_text(encoding="utf-8"))


def lines(value):
    """A value of a field as lines, those of a text in it each by itself."""
    text = value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
    return text.replace("\\n", "\n").split("\n")


def listed_text(lines_that_differ):
    text = "\n".join(lines_that_differ)
    if len(text) <= MUCH:
        return text
    return f"{len(text)} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def difference(ours, theirs):
    """(what petri shows, what ipykernel shows): the lines of two values that differ."""
    one, other = lines(ours), lines(theirs)
    changes = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    changed = [change for change in changes if change[0] != "equal"]
    return (
        listed_text([line for _, start, end, _, _ in changed for line in one[start:end]]),
        listed_text([line for _, _, _, start, end in changed for line in other[start:end]]),
    )


def outline(cell):
    """What of a cell is compared where chance decides the rest."""
    kinds = {(shown["type"], *sorted(shown.get("data", {}))) for shown in cell["outputs"]}
    return {"status": cell["status"], "outputs": sorted(map(list, kinds))}


def differing(cells, others):
    """The cells of two runs that differ in any field."""
    return {number for number in cells if cells[number] != others[number]}


def rows(ours, theirs, chance=()):
    """A row of the list for each field of each cell that differs, without the section; cells of chance in outline."""
    for number in theirs:
        fields, one, other = FIELDS, ours[number], theirs[number]
        if number in chance:
            fields, one, other = ("status", "outputs"), outline(one), outline(other)
        for field in fields:
            if one[field] != other[field]:
                petri, ipykernel = difference(one[field], other[field])
                yield {"cell": number, "shown": field, "petri": petri, "ipykernel": ipykernel}


def chance_of(listed):
    """{cell: why} of a notebook's rows."""
    return {row["cell"]: row["chance"] for row in listed if "chance" in row}


def without_why(row):
    return {key: value for key, value in row.items() if key != "section"}


def mistakes(listed, ours, theirs):
    """A sentence for each difference that isn't listed, and for each row that isn't true."""
    chance = chance_of(listed)
    found = list(rows(ours, theirs, chance))
    for row in found:
        if row not in map(without_why, listed):
            yield f"not listed: {json.dumps(row, ensure_ascii=False)}"
    for row in listed:
        if "chance" in row:
            if row["cell"] not in theirs or row["chance"] in ("", "?"):
                yield f"no such cell, or no reason: {json.dumps(row, ensure_ascii=False)}"
        elif without_why(row) not in found:
            yield f"no longer found, its row can go: {json.dumps(row, ensure_ascii=False)}"
        elif row.get("section") not in sections():
            yield f"no section of docs/fidelity.md: {json.dumps(row, ensure_ascii=False)}"


def renewed(listed, ours, theirs, theirs_again):
    """The rows that are true now; why is kept, and is to be written where there is a "?"."""
    chance = dict.fromkeys(differing(theirs, theirs_again), "?") | chance_of(listed)
    made = [{"cell": number, "chance": why} for number, why in chance.items() if number in theirs]
    sections_of = {(row["cell"], row["shown"]): row["section"] for row in listed if "shown" in row}
    for row in rows(ours, theirs, chance):
        made.append(row | {"section": sections_of.get((row["cell"], row["shown"]), "?")})
    return sorted(made, key=lambda row: row["cell"])
