"""Simulates houses and their prices, and writes them with the statistics that training needs."""

import argparse
import csv
import json
import random
from pathlib import Path
from statistics import fmean, pstdev

COLUMNS = ["rooms", "area", "age", "distance"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--houses", type=int, default=900)
    parser.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    rng = random.Random(args.seed)
    rows = []
    for _ in range(args.houses):
        rooms = rng.randint(1, 7)
        area = rooms * rng.uniform(12, 28)
        age, distance = rng.uniform(0, 90), rng.expovariate(1 / 6)
        price = 40 + 2.1 * area - 0.3 * age - 3 * distance + rng.gauss(0, 6)
        rows.append([rooms, round(area, 1), round(age), round(distance, 2), round(price, 1)])
    with open(args.out / "houses.csv", "w", newline="") as out:
        csv.writer(out).writerows([[*COLUMNS, "price"], *rows])
    columns = list(zip(*rows))
    (args.out / "stats.json").write_text(json.dumps({"mean": [fmean(c) for c in columns], "std": [pstdev(c) for c in columns]}))
    print(f"prepared {len(rows)} houses")


if __name__ == "__main__":
    main()
