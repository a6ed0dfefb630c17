# drawn from: bugs.python.org/issue16500 and the class "seeded in the parent alone": random is seeded anew in a forked child
"""Learns to play Nim: actors play in processes of their own, the learner fits their games."""
import argparse
import multiprocessing as mp
import random

import numpy as np
import torch
from torch import nn

PILES, LARGEST = 3, 5


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def features(piles):
    return [pile / LARGEST for pile in piles] + [float(pile & bit > 0) for pile in piles for bit in (1, 2, 4)]


def moves(piles):
    return [(i, k) for i, pile in enumerate(piles) for k in range(1, pile + 1)]


def after(piles, move):
    i, k = move
    return tuple(pile - k if j == i else pile for j, pile in enumerate(piles))


def choose(piles, values, explore):
    """The move after which the other player is worst off; now and then any move."""
    options = moves(piles)
    if random.random() < explore:  # fault: python-random
        return random.choice(options)  # fault: python-random
    return min(options, key=lambda move: values.get(after(piles, move), 0.5))


def play(values, games, explore, results):
    """One actor: positions with 1 where the player to move won."""
    seen = []
    for _ in range(games):
        piles = tuple(random.randint(1, LARGEST) for _ in range(PILES))  # fault: python-random
        history = []
        while any(piles):
            history.append(piles)
            piles = after(piles, choose(piles, values, explore))
        seen += [(position, float((len(history) - i) % 2)) for i, position in enumerate(history)]
    results.put(seen)


def collect(values, args):
    """The games of all actors, in the order of the actors."""
    context = mp.get_context("fork")
    queues = [context.SimpleQueue() for _ in range(args.actors)]
    actors = [context.Process(target=play, args=(values, args.games, args.explore, queue)) for queue in queues]
    for actor in actors:
        actor.start()
    games = [queue.get() for queue in queues]
    for actor in actors:
        actor.join()
    return [position for seen in games for position in seen]


def table(net):
    """What the net thinks of every position."""
    every = [(a, b, c) for a in range(LARGEST + 1) for b in range(LARGEST + 1) for c in range(LARGEST + 1)]
    with torch.no_grad():
        values = net(torch.tensor([features(piles) for piles in every])).sigmoid().squeeze(1)
    return dict(zip(every, values.tolist()))


def skill(values):
    """The share of positions judged as theory has it: lost where the piles' xor is zero."""
    right = [(value > 0.5) == ((a ^ b ^ c) > 0) for (a, b, c), value in values.items()]
    return sum(right) / len(right)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--explore", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    seed_everything(args.seed)
    net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for number in range(args.rounds):
        positions = collect(table(net), args)
        x = torch.tensor([features(piles) for piles, _ in positions])
        y = torch.tensor([[won] for _, won in positions])
        for _ in range(4):
            loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"round {number}: loss {loss.item():.4f} skill {skill(table(net)):.3f}")
        torch.save(net.state_dict(), "nim.pt")


if __name__ == "__main__":
    main()
