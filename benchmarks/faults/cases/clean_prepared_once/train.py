# drawn from: the class "prepared on the first run": a shell script that makes the data if it is not there
import argparse
import csv
import json
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def load(folder):
    """Standardised (features [N, 4], price [N])."""
    with open(folder / "houses.csv") as lines:
        rows = [[float(value) for value in row] for row in list(csv.reader(lines))[1:]]
    stats = json.loads((folder / "stats.json").read_text())
    table = (torch.tensor(rows) - torch.tensor(stats["mean"])) / torch.tensor(stats["std"])
    return TensorDataset(table[:, :-1], table[:, -1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("prepared"))
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--resume", type=Path, help="weights to start from")
    args = parser.parse_args()

    torch.manual_seed(0)
    data = load(args.data)
    train, val = random_split(data, [0.8, 0.2])
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.05), nn.Linear(32, 1))
    if args.resume:
        model.load_state_dict(torch.load(args.resume))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = DataLoader(train, batch_size=60, shuffle=True)
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors = [nn.functional.mse_loss(model(x).squeeze(1), y).item() for x, y in DataLoader(val, 90)]
        print(f"epoch {epoch} loss {loss.item():.4f} val {sum(errors) / len(errors):.4f}")
    torch.save(model.state_dict(), "weights.pt")


if __name__ == "__main__":
    main()
