"""LoRA on a small Llama by the Trainer, as in PEFT's examples."""

import sys

import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    LlamaConfig,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)

set_seed(42)
TOPICS = ["sports", "politics", "science", "music", "travel", "health"]
topics = list(dict.fromkeys(TOPICS))
label2id = {topic: number for number, topic in enumerate(topics)}


class News(torch.utils.data.Dataset):
    """Headlines of one topic each, with some words masked anew each time."""

    def __init__(self, size):
        generator = torch.Generator().manual_seed(size)
        self.words = torch.randint(3, 100, (size, 12), generator=generator)
        self.topics = [TOPICS[number % 6] for number in range(size)]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        words = self.words[index].clone()
        words[torch.rand(12) < 0.1] = 1
        return {"input_ids": words, "labels": label2id[self.topics[index]]}


config = LlamaConfig(
    vocab_size=100,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_labels=6,
    pad_token_id=0,
)
model = LlamaForSequenceClassification(config)
lora = LoraConfig(
    task_type="SEQ_CLS", r=4, lora_alpha=8, lora_dropout=0.1, target_modules={"q_proj", "v_proj"}
)
model = get_peft_model(model, lora)
model.print_trainable_parameters()
arguments = TrainingArguments(
    "output",
    num_train_epochs=3,
    per_device_train_batch_size=8,
    gradient_accumulation_steps=2,
    per_device_eval_batch_size=8,
    eval_strategy="epoch",
    save_strategy="epoch",
    logging_steps=2,
    dataloader_num_workers=2,
    report_to="none",
    use_cpu=True,
)
trainer = Trainer(model, arguments, train_dataset=News(64), eval_dataset=News(16))
trainer.train(resume_from_checkpoint="--resume" in sys.argv)
trainer.save_model("final")
