"""Makes the data of the tour: sales.csv, orders.csv and dirty.csv, beside this file.

The same seed gives the same bytes on every machine; the files are committed.
"""

import csv
import datetime
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
FIRST_DAY = datetime.date(2026, 3, 2)

CUSTOMERS = [
    "Alder & Sons", "Birch Bakery", "Cedar Clinic", "Dune Hotel", "Elm Street School", "Fjord Fish", "Grove Garage",
    "Harbour Books", "Island Ferries", "Juniper Labs", "Kestrel Air", "Lake Cinema", "Meadow Farm", "North Printers",
    "Orchard Foods", "Pine Furniture", "Quay Logistics", "River Bikes", "Stone Masons", "Tide Energy",
]
PRICES = {"paper": 4.5, "ink": 29.0, "desk": 240.0, "lamp": 39.9, "chair": 119.0}

# How people really write a date; each needs a parser of its own.
DATE_FORMATS = ["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%b %d, %Y"]


def write(name, header, rows):
    with open(HERE / name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def sales(rng):
    """Seven days of a funnel: how many people asked, tried and paid."""
    for day in range(7):
        date = FIRST_DAY + datetime.timedelta(days=day)
        leads = rng.randint(180, 260) if date.weekday() < 5 else rng.randint(70, 110)
        trials = round(leads * rng.uniform(0.30, 0.45))
        paid = round(trials * rng.uniform(0.20, 0.40))
        yield [date.isoformat(), leads, trials, paid]


def orders(rng, count=400):
    """Orders of a quarter: some customers buy much more often than others."""
    weights = [1 / (rank + 1) ** 0.7 for rank in range(len(CUSTOMERS))]
    names = rng.sample(CUSTOMERS, len(CUSTOMERS))
    for number in range(1, count + 1):
        customer = rng.choices(names, weights)[0]
        product = rng.choice(sorted(PRICES))
        quantity = rng.randint(1, 12)
        date = FIRST_DAY + datetime.timedelta(days=rng.randrange(90))
        yield [number, date.isoformat(), customer, product, quantity, f"{quantity * PRICES[product]:.2f}"]


def untidy(rng, text):
    """The same text as a careless person types it."""
    return rng.choice(["", " ", "  "]) + rng.choice([text, text.lower(), text.upper()]) + rng.choice(["", " ", "\t"])


def dirty(rng, people=60, duplicates=25):
    """A sign-up list with spaces, four date formats, and the same person more than once."""
    first = ["Ada", "Ben", "Cleo", "Dario", "Eva", "Finn", "Gita", "Hugo", "Iris", "Jon"]
    last = ["Abel", "Bruun", "Costa", "Dietz", "Evans", "Falk"]
    clean = []
    for number in range(people):
        name = f"{first[number % len(first)]} {last[number // len(first)]}"
        email = name.lower().replace(" ", ".") + "@example.org"
        clean.append((name, email, FIRST_DAY + datetime.timedelta(days=rng.randrange(60))))
    rows = clean + rng.choices(clean, k=duplicates)
    rng.shuffle(rows)
    for name, email, date in rows:
        yield [untidy(rng, name), untidy(rng, email), f" {date.strftime(rng.choice(DATE_FORMATS))} "]


def main():
    write("sales.csv", ["date", "leads", "trials", "paid"], sales(random.Random(1)))
    write("orders.csv", ["order", "date", "customer", "product", "quantity", "revenue"], orders(random.Random(2)))
    write("dirty.csv", ["name", "email", "signed_up"], dirty(random.Random(3)))


if __name__ == "__main__":
    main()
