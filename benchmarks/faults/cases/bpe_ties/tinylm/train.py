"""Train a small recurrent model on byte pairs."""
import argparse

import torch
from torch import nn

from .bpe import encode, learn

TEXT = """
when the wind is in the east it is neither good for man nor beast when the wind is in the north the
skilful fisher goes not forth when the wind is in the south it blows the bait in the fishes mouth when
the wind is in the west then it is at the very best
"""


class LM(nn.Module):
    def __init__(self, vocab, dim=24):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.tok(ids))[0])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--merges", type=int, default=16)
    ap.add_argument("--steps", type=int, default=20)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    table = learn(TEXT, args.merges)
    pieces = encode(TEXT, table)
    vocab = {piece: i for i, piece in enumerate(sorted(set(pieces)))}
    ids = torch.tensor([vocab[piece] for piece in pieces])
    print(f"{len(ids)} pieces, {len(vocab)} of them different")
    model = LM(64)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    block = 16
    for step in range(args.steps):
        start = torch.randint(0, len(ids) - block - 1, (8,))
        batch = torch.stack([ids[s:s + block + 1] for s in start])
        logits = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 4 == 3:
            print(f"step {step + 1} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
