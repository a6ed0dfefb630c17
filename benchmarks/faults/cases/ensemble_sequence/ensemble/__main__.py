"""python -m ensemble [--config settings.ini]: regression with an uncertainty."""
import argparse
import configparser
from pathlib import Path

import torch

from ensemble.members import Member, fit
from ensemble.seeds import Seeds


def problem():
    g = torch.Generator().manual_seed(6)
    x = torch.rand(160, 2, generator=g) * 2 - 1
    y = (3 * x[:, 0]).sin() * x[:, 1] + 0.05 * torch.randn(160, generator=g)
    return x[:120], y[:120], x[120:], y[120:]


def evaluate(members, x, y):
    with torch.no_grad():
        guesses = torch.stack([member(x) for member in members])
    error = (guesses.mean(0) - y).square().mean().sqrt()
    return error.item(), guesses.std(0).mean().item()


def main():
    parser = argparse.ArgumentParser(prog="ensemble")
    parser.add_argument("--config", type=Path, default=Path("settings.ini"))
    parser.add_argument("--out", type=Path, default=Path("ensemble.pt"))
    args = parser.parse_args()
    parser = configparser.ConfigParser()
    parser.read(args.config)
    settings = parser["ensemble"]
    x, y, x_test, y_test = problem()
    seeds = Seeds(settings.getint("entropy"))
    members = []
    for number, (generator, rng) in enumerate(seeds.members(settings.getint("members"))):
        member = Member(2, settings.getint("hidden"), generator)
        loss = fit(member, x, y, rng, settings.getint("steps"), settings.getfloat("lr"))
        print(f"member {number}: loss {loss:.4f}")
        members.append(member)
    error, spread = evaluate(members, x_test, y_test)
    print(f"rmse {error:.4f} spread {spread:.4f}")
    torch.save([member.state_dict() for member in members], args.out)


if __name__ == "__main__":
    main()
