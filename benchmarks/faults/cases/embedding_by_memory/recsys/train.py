# drawn from: the class "sized by what is free": a hashed table takes a share of the memory that is available
"""python -m recsys.train [--config-name base] [section.key=value ...]"""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset

from recsys import config, data, model


def evaluate(net, loader):
    net.eval()
    right = total = 0
    with torch.no_grad():
        for ids, label in loader:
            right += ((net(ids) > 0) == (label > 0)).sum().item()
            total += len(label)
    net.train()
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config-name", default="base")
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    cfg = config.load(args.config_name, args.overrides)

    torch.manual_seed(cfg["train"]["seed"])
    events = data.Events(**cfg["data"])
    net, rows = model.build(cfg["model"])
    cut = int(0.8 * len(events))
    common = dict(batch_size=cfg["train"]["batch_size"], collate_fn=data.make_collate(rows))
    train = DataLoader(Subset(events, range(cut)), shuffle=True, **common)
    valid = DataLoader(Subset(events, range(cut, len(events))), **common)
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg["train"]["lr"])
    for epoch in range(cfg["train"]["epochs"]):
        total = 0.0
        for ids, label in train:
            loss = nn.functional.binary_cross_entropy_with_logits(net(ids), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(train):.4f} valid accuracy {evaluate(net, valid):.4f}")
    model.save(net, "fm.pt")


if __name__ == "__main__":
    main()
