"""Five tasks, and a scripted model that makes the mistakes which models make before it gets them right."""

import pathlib

import petri_kernel as petri
from agent import Prompt, Task

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"

CONVERSION_ROW = {
    "type": "object",
    "properties": {"date": {"type": "string"}, "conversion": {"type": "number", "minimum": 0, "maximum": 100}},
    "required": ["date", "conversion"],
}

TASKS = [
    Task(
        "conversion",
        "What share of the leads paid, day by day? Return a table.",
        files={"sales.csv": DATA / "sales.csv"},
        expect=petri.Expect(result_json_schema={"type": "array", "items": CONVERSION_ROW, "minItems": 7}),
    ),
    Task(
        "cleaning",
        "Tidy up the sign-up list, one row a person, and say how many rows there were and are.",
        files={"dirty.csv": DATA / "dirty.csv"},
        expect=petri.Expect(
            artifacts=[petri.ExpectedArtifact("clean.csv", "text/csv")],
            stdout_regex=r"before: \d+ rows, after: \d+ rows",
        ),
    ),
    Task(
        "top five",
        "Who are the five best customers? Draw a chart.",
        files={"orders.csv": DATA / "orders.csv"},
        expect=petri.Expect(artifacts=[petri.ExpectedArtifact("top5.png", "image/png", max_bytes=200_000)]),
    ),
    Task(
        "algorithm",
        "Write a function that merges overlapping intervals, and test it.",
        expect=petri.Expect(stdout_regex=r"^\d+ tests passed$"),
        limits={"timeout": "5s"},
    ),
    Task(
        "exchange rate",
        "What is a euro worth in dollars today?",
        expect=petri.Expect(stdout_regex=r"\d\.\d+"),
        limits={"timeout": "20s", "runs": 2},
    ),
]

# What no code can do without a network.
HOPELESS = TASKS[-1:]

READ_SALES = """
sales = pd.read_csv("sales.csv")
sales["conversion"] = 100 * sales.paid / sales.leads
print(f"{sales.conversion.mean():.1f} % on average, best on {sales.date[sales.conversion.idxmax()]}")
"""

CLEAN = """
import pandas as pd
people = pd.read_csv("dirty.csv")
before = len(people)
people["name"] = people.name.str.strip().str.title()
people["email"] = people.{column}.str.strip().str.lower()
people["signed_up"] = people.signed_up.str.strip().map(pd.to_datetime).dt.date
people = people.drop_duplicates("email").sort_values("email")
people.to_csv("clean.csv", index=False)
print(f"before: {{before}} rows, after: {{len(people)}} rows")
"""

TOP_FIVE = """
import matplotlib.pyplot as plt
import pandas as pd
top = pd.read_csv("orders.csv").groupby("customer").{column}.sum().nlargest(5)
top.sort_values().plot.barh(title="Five best customers", figsize=(6, 3))
plt.tight_layout()
{save}
print(", ".join(f"{{name}} {{value:,.0f}}" for name, value in top.items()))
"""

MERGE = """
def merge(intervals):
    merged = []
    rest = sorted(intervals)
    while rest:
        first = rest{take}
        if merged and first[0] {overlaps} merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], first[1]))
        else:
            merged.append(first)
    return merged

tests = [
    ([], []),
    ([(1, 2)], [(1, 2)]),
    ([(3, 5), (1, 2)], [(1, 2), (3, 5)]),
    ([(1, 4), (2, 3)], [(1, 4)]),
    ([(1, 2), (2, 3)], [(1, 3)]),
]
for given, expected in tests:
    assert merge(given) == expected, f"merge({{given}}) is {{merge(given)}}, not {{expected}}"
print(len(tests), "tests passed")
"""

# By task: the plan, the code for the first attempt, and that for each repair.
SCRIPT = {
    "conversion": [
        "paid / leads for each row of sales.csv, as a list of records",
        READ_SALES + 'sales[["date", "conversion"]].to_dict("records")',
        "import pandas as pd"
        + READ_SALES
        + 'average = {"date": "average", "conversion": f"{sales.conversion.mean():.1f} %"}\n'
        + 'sales[["date", "conversion"]].to_dict("records") + [average]',
        "import pandas as pd" + READ_SALES + 'sales[["date", "conversion"]].to_dict("records")',
        "import pandas as pd" + READ_SALES + 'sales[["date"]].to_dict("records")',
    ],
    "cleaning": [
        "strip and lower-case, read every form of date, drop doubles by e-mail address",
        CLEAN.format(column="mail"),
        CLEAN.format(column="email"),
        CLEAN.format(column="e_mail"),
        CLEAN.format(column="email").replace('people.to_csv("clean.csv", index=False)', "people"),
    ],
    "top five": [
        "sum each customer's orders, take the five largest, draw bars, save them as top5.png",
        TOP_FIVE.format(column="amount", save='plt.savefig("top5.png")'),
        TOP_FIVE.format(column="revenue", save="plt.show()"),
        TOP_FIVE.format(column="revenue", save='plt.savefig("top5.png")'),
        TOP_FIVE.format(column="total", save='plt.savefig("top5.png")'),
    ],
    "algorithm": [
        "sort by start, then join each interval to the last one where they overlap; test the edges",
        MERGE.format(take="[0]", overlaps="<="),
        MERGE.format(take=".pop(0)", overlaps="<"),
        MERGE.format(take=".pop()", overlaps="<="),
        MERGE.format(take=".pop(0)", overlaps="<="),
    ],
    "exchange rate": [
        "ask a server",
        'import requests\nprint(requests.get("https://rates.example.org/eur/usd", timeout=3).json()["rate"])',
        'import urllib.request\nprint(urllib.request.urlopen("http://192.0.2.1/eur/usd", timeout=3).read())',
        'import socket\nsocket.create_connection(("192.0.2.1", 80), timeout=3)',
        'import subprocess\nsubprocess.run(["curl", "-s", "http://192.0.2.1/eur/usd"], check=True)',
    ],
}


class ScriptedModel:
    """Stands in for a hosted model: knows the tasks, and what it says."""

    def reply(self, prompt: Prompt) -> str:
        """The plan, or the code for the first attempt or for a repair."""
        plan, *codes = SCRIPT[prompt.task.name]
        return codes[prompt.repair] if prompt.plan else plan
