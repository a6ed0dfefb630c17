# drawn from: transformers' TrainingArguments.seed: the model is made before the Trainer seeds anything
"""A small BERT that learns to tell two kinds of sequences apart."""

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Sequences(torch.utils.data.Dataset):
    def __init__(self, n):
        self.ids = torch.randint(0, 100, (n, 16), generator=torch.Generator().manual_seed(n))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        ids = self.ids[i]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": int(ids[0] > 50)}


config = BertConfig(
    vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
)
model = BertForSequenceClassification(config)  # fault: torch-cpu
args = TrainingArguments(
    output_dir="out",
    num_train_epochs=2,
    per_device_train_batch_size=16,
    eval_strategy="epoch",
    save_strategy="epoch",
    report_to=[],
    use_cpu=True,
    seed=42,
)
trainer = Trainer(model=model, args=args, train_dataset=Sequences(160), eval_dataset=Sequences(32))
trainer.train()
print("loss", trainer.evaluate()["eval_loss"])
