"""A causal convolutional language model."""

import torch.nn.functional as F
from torch import nn


class CharLM(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.embed = nn.Embedding(vocab, cfg.embed)  # fault: torch-cpu
        self.conv1 = nn.Conv1d(cfg.embed, cfg.hidden, 4)  # fault: torch-cpu
        self.conv2 = nn.Conv1d(cfg.hidden, cfg.hidden, 4)  # fault: torch-cpu
        self.head = nn.Linear(cfg.hidden, vocab)  # fault: torch-cpu

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        x = F.relu(self.conv1(F.pad(x, (3, 0))))
        x = F.relu(self.conv2(F.pad(x, (3, 0))))
        return self.head(x.transpose(1, 2))
