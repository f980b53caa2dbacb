"""Makes the data of the class: data/rides.csv, the rides of a month on the bicycles of a town.

The same seed gives the same bytes on every machine; the file is committed.
"""

import csv
import datetime
import pathlib
import random

DATA = pathlib.Path(__file__).resolve().parent / "data"
FIRST_DAY = datetime.date(2026, 5, 1)
DAYS = 31
STATIONS = {"Station": 9, "Market": 7, "Harbour": 5, "University": 4, "Hospital": 3, "Old Mill": 2}  # and how busy


def rides(rng):
    """Members ride on workdays and not far; others on dry weekends, and for longer."""
    for number in range(DAYS):
        day = FIRST_DAY + datetime.timedelta(days=number)
        rain = rng.choice(["no", "no", "no", "yes"])
        weekend = day.weekday() >= 5
        for member, usual in [("yes", 8 if weekend else 14), ("no", 12 if weekend else 4)]:
            for _ in range(round(usual * (0.5 if rain == "yes" else 1) * rng.uniform(0.8, 1.2))):
                [station] = rng.choices(list(STATIONS), STATIONS.values())
                minutes = max(3, round(rng.gauss(12, 4) if member == "yes" else rng.gauss(31, 10)))
                yield [day.isoformat(), station, member, rain, minutes]


def main():
    DATA.mkdir(exist_ok=True)
    with open(DATA / "rides.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["day", "station", "member", "rain", "minutes"])
        writer.writerows(rides(random.Random(5)))


if __name__ == "__main__":
    main()
