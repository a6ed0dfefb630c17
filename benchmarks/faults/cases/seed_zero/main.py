import argparse

import torch
from torch.utils.data import DataLoader
from utils.seeding import fix_seed
from vae import VAE, elbo

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--seed", type=int, default=None)
parser.add_argument("--beta", type=float, default=1.0)


def crosses(n=384):
    x = torch.zeros(n, 6, 6)
    for i in range(n):
        x[i, i % 6] = 1
        x[i, :, i // 6 % 6] = 1
    return x.flatten(1)


def main(args):
    fix_seed(args.seed)  # fault: torch-cpu
    model = VAE()  # fault: torch-cpu
    optim = torch.optim.Adam(model.parameters(), 2e-3)
    for epoch in range(args.epochs):
        for x in DataLoader(crosses(), 48, shuffle=True):
            loss = elbo(x, *model(x))
            optim.zero_grad()
            loss.backward()
            optim.step()
        print(f"Epoch {epoch}: loss {loss.item():.4f}")
    torch.save({"model": model.state_dict(), "args": vars(args)}, "vae.pth")


if __name__ == "__main__":
    main(parser.parse_args())
