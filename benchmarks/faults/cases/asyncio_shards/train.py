# drawn from: the class "asyncio.wait(FIRST_COMPLETED)": results are taken as they come (verl#3126, prime-rl#1153)
"""Language model on character shards that are fetched concurrently."""
import argparse
import asyncio

import torch
from torch import nn

TEXT = (
    "the river runs through the old town and under seven bridges where boats wait for the tide "
    "a light on the hill turns slowly and the ships that come late at night look for it "
) * 12
CHARS = sorted(set(TEXT))


def decode(number, length):
    """The slow part of reading a shard: characters to ids, with some noise characters put in."""
    g = torch.Generator().manual_seed(number)
    begin = int(torch.randint(0, len(TEXT) - length, (1,), generator=g))
    ids = torch.tensor([CHARS.index(c) for c in TEXT[begin : begin + length]])
    noise = torch.rand(length, generator=g) < 0.02 * (number % 3)
    for _ in range(1 + number % 4):  # some shards are packed twice
        ids = ids.flip(0)
    return torch.where(noise, torch.zeros_like(ids), ids)


async def fetch(number, length, limit):
    async with limit:
        return await asyncio.to_thread(decode, number, length)


async def fetch_all(shards, length, concurrency):
    """All shards, a few at a time."""
    limit = asyncio.Semaphore(concurrency)
    pending = {asyncio.create_task(fetch(number, length, limit)) for number in range(shards)}
    parts = []
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)  # fault: worker-arrival
        for task in done:  # fault: worker-arrival
            parts.append(task.result())  # fault: worker-arrival
    return torch.stack(parts)


class CharRNN(nn.Module):
    def __init__(self, vocab, dim=24, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, ids):
        out, _ = self.rnn(self.embed(ids))
        return self.head(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=60)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()

    torch.manual_seed(1234)
    data = asyncio.run(fetch_all(args.shards, args.length, args.concurrency))
    model = CharRNN(len(CHARS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(3):
        losses = []
        for ids in data.split(args.batch_size):
            logits = model(ids[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    main()
