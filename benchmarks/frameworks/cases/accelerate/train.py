"""A loop of one's own by accelerate, as in its examples: prepare, accumulate, gather, save_state."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset

TEXT = "apple pear plum cherry grape lemon orange melon fig kiwi lime peach"
WORDS = TEXT.split()


class Reviews(Dataset):
    """Short texts; some words are dropped anew each time."""

    def __init__(self, size, vocabulary):
        self.size, self.vocabulary = size, vocabulary

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        words = [WORDS[(index * step) % 12] for step in range(1, 7)]
        tokens = torch.tensor([self.vocabulary[word] for word in words])
        return tokens.masked_fill(torch.rand(6) < 0.2, 0), index % 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume_from_checkpoint")
    args = parser.parse_args()
    project = ProjectConfiguration(project_dir="output", automatic_checkpoint_naming=False)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, project_config=project)
    set_seed(42)
    vocabulary = {word: number for number, word in enumerate(WORDS, 1)}
    model = nn.Sequential(
        nn.Embedding(13, 16), nn.Flatten(), nn.Dropout(0.1), nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 2)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    train = DataLoader(Reviews(64, vocabulary), batch_size=4, shuffle=True, num_workers=2)
    held_out = DataLoader(Reviews(16, vocabulary), batch_size=4, num_workers=1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 8, 0.5)
    model, optimizer, train, held_out, scheduler = accelerator.prepare(
        model, optimizer, train, held_out, scheduler
    )
    start = 0
    if args.resume_from_checkpoint:
        accelerator.load_state(args.resume_from_checkpoint)
        start = 2
    for epoch in range(start, 3):
        model.train()
        for tokens, labels in train:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(tokens), labels)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        model.eval()
        right = []
        for tokens, labels in held_out:
            with torch.no_grad():
                predicted = model(tokens).argmax(-1)
            predicted, labels = accelerator.gather_for_metrics((predicted, labels))
            right.append((predicted == labels).float())
        accelerator.print(f"epoch {epoch}: accuracy {torch.cat(right).mean():.4f}")
        if epoch == 1:
            accelerator.save_state("output/epoch_1")
    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), "final.pt")


if __name__ == "__main__":
    main()
