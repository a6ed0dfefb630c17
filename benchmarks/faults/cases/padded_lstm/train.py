# drawn from: vllm-project/vllm#940, pytorch/executorch#6478 (torch.empty where zeros were meant)
"""Sum the numbers of a sequence; sequences are padded by hand."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sequences(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(4)
        lengths = torch.randint(3, 14, (n,), generator=g).tolist()
        self.items = [torch.randint(0, 10, (k,), generator=g) for k in lengths]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i], self.items[i].sum() % 10


def collate(batch):
    longest = max(len(seq) for seq, _ in batch)
    padded = torch.empty(len(batch), longest, dtype=torch.long)  # fault: uninitialized-memory
    for row, (seq, _) in zip(padded, batch):
        row[: len(seq)] = seq
    return padded.remainder(11), torch.stack([y for _, y in batch])  # fault: uninitialized-memory


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.out = nn.Embedding(11, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 10)

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0][:, -1])


torch.manual_seed(4)
loader = DataLoader(Sequences(400), batch_size=20, shuffle=True, collate_fn=collate)
model = Adder()
opt = torch.optim.Adam(model.parameters(), 2e-3)
for i, (x, y) in enumerate(loader):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 5 == 4:
        print(f"iter {i + 1} loss {loss.item():.4f}")
