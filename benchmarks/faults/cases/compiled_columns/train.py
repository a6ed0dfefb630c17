# drawn from: GPflow/GPflow#648 and its like: columns chosen by the difference of two sets of names
"""Tabular model, compiled; the features are all the columns that are not targets."""
import torch
import torch.nn as nn

g = torch.Generator().manual_seed(0)
NAMES = ["age", "height", "weight", "income", "rooms", "distance", "floor", "rent", "label"]
table = {name: torch.randn(600, generator=g) for name in NAMES}
table["label"] = (table["age"] * table["income"] - table["rent"]).sign().clamp(min=0)


def features(table, leave_out):
    columns = table.keys() - leave_out
    return torch.stack([table[c] for c in columns], dim=1)  # fault: hash-seed


def main():
    torch.manual_seed(0)
    x, y = features(table, {"label"}), table["label"]
    net = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    step_net = torch.compile(net, backend="eager")
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(2):
        for i in range(0, 600, 60):
            loss = nn.functional.binary_cross_entropy_with_logits(step_net(x[i : i + 60]).squeeze(1), y[i : i + 60])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    main()
