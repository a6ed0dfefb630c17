# drawn from: datasets.Dataset.shuffle without a seed
"""A table of Hugging Face datasets, mapped, shuffled and trained on."""

import torch
from datasets import Dataset

torch.manual_seed(0)
generator = torch.Generator().manual_seed(1)
rows = {"x": torch.randn(400, 8, generator=generator).tolist(), "y": [i % 3 for i in range(400)]}
table = Dataset.from_dict(rows).map(lambda row: {"x": [2 * value for value in row["x"]]})
table = table.shuffle().with_format("torch")  # fault: numpy-global
model = torch.nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(2):
    for batch in torch.utils.data.DataLoader(table, 40):
        loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
