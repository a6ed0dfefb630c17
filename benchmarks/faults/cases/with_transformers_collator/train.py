# drawn from: a collator with a generator of its own, which transformers.set_seed does not reach
"""Masked language modelling with transformers' Trainer and a collator of our own."""

import random

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments, set_seed


class Masker:
    """Hides 15 % of the tokens."""

    def __init__(self, mask=1):
        self.mask = mask
        self.random = random.Random()  # fault: os-entropy

    def __call__(self, rows):
        ids = torch.stack([row["input_ids"] for row in rows])
        labels = ids.clone()
        for row in range(len(ids)):
            for column in range(ids.shape[1]):
                if self.random.random() < 0.15:  # fault: os-entropy
                    ids[row, column] = self.mask
                else:
                    labels[row, column] = -100
        return {"input_ids": ids, "labels": labels}


class Text(torch.utils.data.Dataset):
    def __init__(self, n):
        self.ids = torch.randint(2, 100, (n, 16), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i]}


set_seed(42)
config = BertConfig(
    vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
)
args = TrainingArguments(
    output_dir="out",
    max_steps=15,
    per_device_train_batch_size=16,
    save_strategy="no",
    logging_steps=5,
    report_to=[],
    use_cpu=True,
)
model = BertForMaskedLM(config)
trainer = Trainer(model=model, args=args, train_dataset=Text(200), data_collator=Masker())
print("loss", trainer.train().training_loss)
