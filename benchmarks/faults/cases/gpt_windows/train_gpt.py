# drawn from: the class "np.random for the windows of a token file" (seen in nanoGPT forks); torch alone is seeded
"""Miniature GPT: bf16 autocast, gradient accumulation, clipping."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK, BATCH, DIM, ACCUM = 32, 8, 48, 4
torch.manual_seed(1337)
tokens = (np.arange(20000) * 7919 % 1009 % 61).astype(np.uint16)


def get_batch():
    ix = np.random.randint(0, len(tokens) - BLOCK - 1, BATCH)  # fault: numpy-global
    x = torch.stack([torch.from_numpy(tokens[i : i + BLOCK].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(tokens[i + 1 : i + 1 + BLOCK].astype(np.int64)) for i in ix])
    return x, y


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM, bias=False), nn.Linear(DIM, DIM, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, 4, DIM // 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.1 if self.training else 0.0)
        return self.proj(y.transpose(1, 2).reshape(b, t, DIM))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(61, DIM), nn.Embedding(BLOCK, DIM)
        self.attn, self.ln1, self.ln2 = Attention(), nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM), nn.Dropout(0.1))
        self.head = nn.Linear(DIM, 61, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return F.cross_entropy(self.head(x).view(-1, 61), targets.view(-1))


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
for it in range(8):
    for micro in range(ACCUM):
        X, Y = get_batch()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(X, Y) / ACCUM
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(f"iter {it}: loss {loss.item() * ACCUM:.4f}")
