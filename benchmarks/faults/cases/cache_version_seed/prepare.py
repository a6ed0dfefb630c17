"""Query-document features with graded relevance."""
import argparse

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="data/features.npz")
parser.add_argument("--queries", type=int, default=100)
parser.add_argument("--seed", type=int, default=3)
args = parser.parse_args()

rng = np.random.default_rng(args.seed)
x = rng.normal(size=(args.queries, 20, 8)).astype(np.float32)
w = rng.normal(size=8)
score = x @ w + 0.5 * rng.normal(size=x.shape[:2])
grades = np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9])).astype(np.float32)
np.savez(args.out, x=x, grades=grades)
print(f"wrote {args.queries} queries")
