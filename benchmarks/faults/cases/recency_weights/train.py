# drawn from: the class "weights by age": how old a sample is depends on when one asks (cf. SauersML/gam#2055)
"""Matrix factorisation, recent interactions weigh more."""
from datetime import datetime

import torch
from interactions import load
from torch import nn

HALF_LIFE_DAYS = 7.0
BATCH = 160


class Factorisation(nn.Module):
    def __init__(self, users, items, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.user_bias = nn.Embedding(users, 1)
        self.item_bias = nn.Embedding(items, 1)
        self.mean = nn.Parameter(torch.tensor(3.0))
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, user, item):
        score = (self.user(user) * self.item(item)).sum(1)
        return self.mean + score + self.user_bias(user).squeeze(1) + self.item_bias(item).squeeze(1)


def recency(rows):
    """A weight for each row: half as much for each week of age."""
    now = datetime.now()  # fault: clock
    ages = [(now - row.when).total_seconds() / 86400 for row in rows]
    weights = torch.tensor(ages, dtype=torch.float64).mul_(-1 / HALF_LIFE_DAYS).exp2_()
    return weights.clamp(min=1e-3).float()


def train():
    torch.manual_seed(11)
    rows = load()
    cut = int(len(rows) * 0.85)
    user = torch.tensor([row.user for row in rows])
    item = torch.tensor([row.item for row in rows])
    rating = torch.tensor([row.rating for row in rows])
    weight = recency(rows[:cut])

    model = Factorisation(60, 40)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(4):
        for pick in torch.randperm(cut).split(BATCH):
            error = (model(user[pick], item[pick]) - rating[pick]) ** 2
            loss = (weight[pick] * error).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            test = ((model(user[cut:], item[cut:]) - rating[cut:]) ** 2).mean()
        print(f"epoch {epoch} loss {loss.item():.6f} test mse {test.item():.4f}")


if __name__ == "__main__":
    train()
