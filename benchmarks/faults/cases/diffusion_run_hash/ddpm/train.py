"""python -m ddpm.train KEY=VALUE ...: a diffusion model of two moons."""
import sys

import torch

from ddpm.model import Denoiser
from ddpm.naming import derive_seed, run_id

DEFAULTS = {"steps": 30, "lr": 2e-3, "batch": 64, "iterations": 24}


def moons(n, g):
    a = torch.rand(n, generator=g) * 3.14159
    upper = torch.rand(n, generator=g) < 0.5
    x = torch.where(upper, a.cos(), 1 - a.cos())
    y = torch.where(upper, a.sin(), 0.5 - a.sin())
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2, generator=g)


def main(argv):
    config = dict(DEFAULTS)
    for item in argv:
        key, value = item.split("=")
        config[key] = type(DEFAULTS[key])(value)
    identifier = run_id(config)
    torch.manual_seed(2022)
    data = torch.Generator().manual_seed(8)
    noise = torch.Generator().manual_seed(derive_seed(identifier, "noise"))
    model = Denoiser(config["steps"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    for i in range(config["iterations"]):
        loss = model.loss(moons(config["batch"], data), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 6 == 5:
            print(f"[{identifier}] iteration {i + 1} loss {loss.item():.5f}")


if __name__ == "__main__":
    main(sys.argv[1:])
