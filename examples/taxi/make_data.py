"""Writes rides like those of Chicago, in the 17 columns of the sample: a stand-in of 90 kB, the same each time."""

import csv
import json
import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from burnish.data.codecs.example import write_examples

AREAS = {8: (41.9, -87.633), 32: (41.881, -87.632), 28: (41.874, -87.663), 6: (41.944, -87.656), 76: (41.98, -87.913)}
"""Community areas and their middles."""
COMPANIES = ("Flash Cab", "Blue Ribbon Taxi", "Yellow Cab", "Taxi Affiliation Services", "Sun Taxi")
PAYMENTS = ("Credit Card", "Cash", "No Charge", "Unknown")


def ride(draw: random.Random) -> dict[str, Any]:
    """Who pays by card tips well in the evening, and likes a ride that is neither a rush nor a detour."""
    start, end = draw.sample(sorted(AREAS), 2)
    north, east = (69 * (AREAS[start][0] - AREAS[end][0]), 51.4 * (AREAS[start][1] - AREAS[end][1]))
    detour = draw.uniform(1.05, 1.9)
    miles, hour = round(max(0.4, math.hypot(north, east)) * detour, 2), draw.randrange(24)
    payment = draw.choices(PAYMENTS, (6, 3, 0.3, 0.7))[0]
    wish = 2 * (payment == "Credit Card" and hour >= 12) + 4 * (0.2 - abs(detour - 1.45)) - 0.9
    return {
        "tip": int(draw.random() < 1 / (1 + math.exp(-3 * wish))),
        "trip_miles": miles,
        "trip_seconds": round(miles * draw.gauss(200, 30)) + 90,
        "fare": round(3.25 + 2.25 * miles + (2 if 76 in (start, end) else 0) + draw.gauss(0, 0.4), 2),
        "trip_start_month": draw.randint(1, 12),
        "trip_start_hour": hour,
        "trip_start_day": draw.randint(1, 7),
        "pickup_community_area": start,
        "dropoff_community_area": end,
        "pickup_census_tract": 17031000000 + start,
        "dropoff_census_tract": 17031000000 + end,
        "pickup_latitude": AREAS[start][0],
        "pickup_longitude": AREAS[start][1],
        "dropoff_latitude": AREAS[end][0],
        "dropoff_longitude": AREAS[end][1],
        "payment_type": payment,
        "company": draw.choice(COMPANIES),
    }


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a header and the rows."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write training and evaluation rows, and three rides to ask about in three formats."""
    draw, folder = random.Random(11), Path("data")
    folder.mkdir(exist_ok=True)
    write_csv(folder / "taxi_trips_train.csv", [ride(draw) for _ in range(600)])
    write_csv(folder / "taxi_trips_eval.csv", [ride(draw) for _ in range(200)])
    asked = [{name: value for name, value in ride(draw).items() if name != "tip"} for _ in range(3)]
    write_csv(folder / "ask.csv", asked)
    (folder / "ask.json").write_text(json.dumps({"instances": asked}))
    with (folder / "ask.tfrecord").open("wb") as stream:
        write_examples(stream, pa.Table.from_pylist(asked))


if __name__ == "__main__":
    main()
