"""Masked language modelling with a small BERT by the Trainer."""

import sys

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments, set_seed

set_seed(1)
PAD, MASK = 0, 1


class Texts(Dataset):
    """Sequences of tokens; the collator masks them."""

    def __init__(self, size):
        generator = torch.Generator().manual_seed(size)
        self.tokens = torch.randint(2, 64, (size, 16), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index]}


def collate(examples):
    """15 % of the tokens are to be guessed."""
    tokens = torch.stack([example["input_ids"] for example in examples])
    chosen = torch.rand(tokens.shape) < 0.15
    return {
        "input_ids": tokens.masked_fill(chosen, MASK),
        "labels": tokens.masked_fill(~chosen, -100),
    }


config = BertConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    pad_token_id=PAD,
)
arguments = TrainingArguments(
    "output",
    num_train_epochs=3,
    per_device_train_batch_size=8,
    gradient_accumulation_steps=2,
    eval_strategy="epoch",
    save_strategy="epoch",
    load_best_model_at_end=True,
    dataloader_num_workers=2,
    logging_steps=2,
    report_to="none",
    use_cpu=True,
    seed=1,
)
trainer = Trainer(
    BertForMaskedLM(config),
    arguments,
    data_collator=collate,
    train_dataset=Texts(64),
    eval_dataset=Texts(16),
)
trainer.train(resume_from_checkpoint="--resume" in sys.argv)
print(trainer.evaluate())
trainer.save_model("final")
