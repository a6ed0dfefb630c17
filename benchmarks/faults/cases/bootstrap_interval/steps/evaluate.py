# drawn from: the class "an interval by an unseeded bootstrap", computed by a program after the training
import argparse
import json
import random

import torch

from steps.common import build, load


@torch.no_grad()
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resamples", type=int, default=100)
    args = parser.parse_args()
    model = build()
    model.load_state_dict(torch.load("model.pt"))
    model.eval()
    x, y = load("test")
    found = []
    for _ in range(args.resamples):
        rows = random.choices(range(len(x)), k=len(x))  # fault: python-random
        found.append(accuracy(model, x[rows], y[rows]))
    found.sort()
    low, high = found[len(found) // 20], found[-len(found) // 20 - 1]
    with open("report.json", "w") as out:
        json.dump({"accuracy": accuracy(model, x, y), "low": low, "high": high, "mean": sum(found) / len(found)}, out, indent=1)
    print(f"accuracy {accuracy(model, x, y):.4f}, 90% interval {low:.4f} to {high:.4f}")


if __name__ == "__main__":
    main()
