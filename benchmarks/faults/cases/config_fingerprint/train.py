"""SimCLR on vectors."""
import argparse

import torch
from simclr.config import Config
from simclr.model import Encoder, nt_xent
from simclr.views import blobs, two_views


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--temperature", type=float, default=0.2)
    args = parser.parse_args()
    cfg = Config(steps=args.steps, temperature=args.temperature)
    torch.manual_seed(cfg.seed())  # fault: memory-address
    x, _ = blobs(512)
    encoder = Encoder(x.shape[1], cfg)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        rows = torch.randint(0, len(x), (cfg.batch,))
        a, b = two_views(x[rows])
        loss = nt_xent(encoder(a), encoder(b), cfg.temperature)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step + 1:3d} loss {loss.item():.5f}")
    torch.save(encoder.state_dict(), "encoder.pt")


if __name__ == "__main__":
    main()
