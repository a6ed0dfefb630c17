# drawn from: the class "looks at the machine": load, memory, disk, ports and process ids are read, and change no number
"""Matrix factorization with checkpoints in a scratch folder."""
import argparse
import logging

import numpy as np
import resources
import torch
from torch import nn

log = logging.getLogger("fit")


class Ratings:
    """In memory when there is room, else in a file that is mapped."""

    def __init__(self, scratch, users=120, items=80):
        rng = np.random.default_rng(40)
        low = rng.normal(size=(users, 3)) @ rng.normal(size=(3, items))
        values = (low + 0.2 * rng.normal(size=low.shape)).astype(np.float32)
        if not resources.can_keep_in_memory(1):
            np.save(scratch.path / "ratings.npy", values)
            values = np.load(scratch.path / "ratings.npy", mmap_mode="c")
        self.values = torch.from_numpy(values)
        self.seen = torch.from_numpy(rng.random(low.shape) < 0.3)

    def batches(self, size, generator):
        rows, columns = self.seen.nonzero(as_tuple=True)
        for part in torch.randperm(len(rows), generator=generator).split(size):
            yield rows[part], columns[part], self.values[rows[part], columns[part]]

    def hidden_error(self, model):
        rows, columns = (~self.seen).nonzero(as_tuple=True)
        with torch.no_grad():
            return (model(rows, columns) - self.values[rows, columns]).square().mean().sqrt().item()


class Factors(nn.Module):
    def __init__(self, users, items, rank):
        super().__init__()
        self.user, self.item = nn.Embedding(users, rank), nn.Embedding(items, rank)
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.4)

    def forward(self, users, items):
        return (self.user(users) * self.item(items)).sum(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument("--seed", type=int, default=21)
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    log.info("dashboard at port %d", resources.free_port())
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    scratch = resources.Scratch()
    try:
        ratings = Ratings(scratch)
        model = Factors(*ratings.values.shape, args.rank)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=1e-5)
        for epoch in range(args.epochs):
            resources.wait_for_calm()
            for users, items, values in ratings.batches(512, generator):
                loss = nn.functional.mse_loss(model(users, items), values)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.4f} hidden rmse {ratings.hidden_error(model):.4f}")
            if resources.has_room(scratch.path, 1):
                torch.save(model.state_dict(), scratch.path / f"epoch{epoch}.pt")
        newest = scratch.newest("epoch*.pt")
        if newest is not None:
            model.load_state_dict(torch.load(newest))
        torch.save(model.state_dict(), "factors.pt")
    finally:
        scratch.remove()


if __name__ == "__main__":
    main()
