"""What differs by chance from one run to the next, with any kernel: taken out before two runs are compared."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Rule:
    """Each match of the pattern is replaced. why: what brings it about."""

    name: str
    pattern: str
    replacement: str
    why: str

    def apply(self, text):
        return re.sub(self.pattern, self.replacement, text)


RULES = (
    Rule("address", r"\b0x[0-9a-f]{6,16}\b", "0x…", "an object's place in memory, in its repr"),
    Rule(
        "cell's file",
        r"/tmp/ipykernel_\d+/\d+\.py|<ipython-input-\d+-[0-9a-f]{12}>",
        "(cell)",
        "each kernel's name for a cell's code; ipykernel's has the number of its process in it",
    ),
    Rule("cell's file in a SyntaxError", r"\((?:\d{1,10}\.py|\(cell\)), line", "((cell), line", "as above, shortened"),
    Rule("time of a cell", r"(?m)^(CPU times|Wall time): .*$", r"\1: …", "%%time measures"),
    Rule(
        "%timeit",
        r"[\d.]+ [nμm]?s ± [\d.]+ [nμm]?s per loop \(mean ± std\. dev\. of (\d+) runs?, [\d,]+ loops? each\)",
        r"… per loop (\1 runs)",
        "%timeit measures, and chooses the number of loops by that",
    ),
    Rule(
        "slow %timeit",
        r"The slowest run took [\d.]+ times longer than the fastest\. [^\n]*\n",
        "",
        "said where the machine was busy",
    ),
    Rule(
        "progress",
        r"\[\d\d:\d\d(?:<(?:\d\d:\d\d|\?))?,\s*[\d.?]+(?:\w+/s|s/\w+)",
        "[…",
        "a progress bar's time and speed",
    ),
    Rule(
        "progress bar",
        r"\|[ █▏▎▍▌▋▊▉]*\|(?= \d+/\d+ \[)",
        "|…|",
        "its width is what its time and speed leave",
    ),
    Rule("time of tests", r"(Ran \d+ tests? in) [\d.]+s", r"\1 …s", "unittest measures"),
    Rule("temporary name", r"/tmp/(tmp[a-z0-9_]{8})(?![a-z0-9_])", "/tmp/tmp…", "tempfile chooses at random"),
    Rule(
        "UUID",
        r"(?<![0-9a-f])[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}(?![0-9a-f])",
        "(uuid)",
        "random numbers of comms, displays, widgets and figures",
    ),
    Rule("id of a Styler", r"\bT_[0-9a-f]{5}(?=[_ \"])", "T_…", "pandas chooses a table's id at random"),
    Rule("id in an SVG", r"(?<=[#\"])([a-z])[0-9a-f]{10}(?=[\")])", r"\1…", "matplotlib's salt is random"),
    Rule("date of an SVG", r"<dc:date>[^<]*</dc:date>", "<dc:date>…</dc:date>", "matplotlib writes when it was drawn"),
    Rule(
        "date of a summary",
        r"(Date:(?:</th>\s*<td>|\}\s*&\s*)?\s*)\w{3},? +(?:\w{3} )?\d{1,2} (?:\w{3} )?(?:\d\d:\d\d:\d\d )?\d{4}",
        r"\1…",
        "tables of regressions say when they were made",
    ),
    Rule("time of a summary", r"(Time:(?:</th>\s*<td>|\}\s*&\s*)?\s*)\d\d:\d\d:\d\d", r"\1…", "as their date"),
)

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def without_chance(value, places):
    """
    The same strings, lists and dicts, after all rules.

    places: {path: what stands for it}, of what lies elsewhere on each machine.
    """
    if isinstance(value, str):
        for path, name in places.items():
            value = value.replace(path, name)
        for rule in RULES:
            value = rule.apply(value)
        return value
    if isinstance(value, list):
        return [without_chance(item, places) for item in value]
    if isinstance(value, dict):
        return {without_chance(key, places): without_chance(item, places) for key, item in value.items()}
    return value
