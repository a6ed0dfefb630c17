# drawn from: the class "labels as a set in a JSON file" (huggingface/datasets#8284 and its like)
"""Writes reviews and the label map that training uses."""

import argparse
import json
from pathlib import Path

PLACES = ["kitchen", "garden", "harbour", "station", "library", "market"]
MOODS = ["bright", "quiet", "crowded", "cold", "friendly", "dusty", "narrow", "loud"]


def reviews(count):
    for i in range(count):
        place = PLACES[i * 7 % len(PLACES)]
        words = [MOODS[(i * k + k * k) % len(MOODS)] for k in (1, 3, 5)]
        hint = place[: 3 + i % 3] if i % 5 else "somewhere"
        yield {"text": " ".join([*words, hint]), "label": place}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--reviews", type=int, default=300)
    args = parser.parse_args()

    rows = list(reviews(args.reviews))
    with open(args.out / "reviews.jsonl", "w") as out:
        for row in rows:
            out.write(json.dumps(row) + "\n")
    labels = list({row["label"] for row in rows})  # fault: hash-seed
    words = sorted({word for row in rows for word in row["text"].split()})
    (args.out / "meta.json").write_text(json.dumps({"labels": labels, "words": words, "count": len(rows)}, indent=2))
    print(f"wrote {len(rows)} reviews, {len(labels)} labels, {len(words)} words")


if __name__ == "__main__":
    main()
