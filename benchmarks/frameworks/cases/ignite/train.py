"""Engines, metrics, a learning rate schedule and checkpoints by ignite."""

import argparse

import torch
from ignite.contrib.handlers import CosineAnnealingScheduler
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, global_step_from_engine
from ignite.metrics import Accuracy, Loss
from ignite.utils import manual_seed
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """Patterns, each shifted anew every time."""

    def __init__(self, size, shifted):
        self.patterns = torch.randn(4, 24, generator=torch.Generator().manual_seed(0))
        self.size, self.shifted = size, shifted

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        pattern = self.patterns[index % 4]
        if self.shifted:
            shift = int(torch.randint(-3, 4, ()))
            pattern = pattern.roll(shift)
        return pattern, index % 4


parser = argparse.ArgumentParser()
parser.add_argument("--resume-from")
args = parser.parse_args()

manual_seed(17)
train = DataLoader(Digits(64, True), 8, shuffle=True, num_workers=2)
held_out = DataLoader(Digits(16, False), 8, num_workers=1)
model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, criterion, gradient_accumulation_steps=2)
evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy(), "loss": Loss(criterion)})
schedule = CosineAnnealingScheduler(optimizer, "lr", 0.05, 0.001, 24)
trainer.add_event_handler(Events.ITERATION_STARTED, schedule)


@trainer.on(Events.EPOCH_COMPLETED)
def validate(engine):
    evaluator.run(held_out)
    metrics = evaluator.state.metrics
    print(f"epoch {engine.state.epoch}: accuracy {metrics['accuracy']:.4f}, loss {metrics['loss']:.4f}")


objects = {"model": model, "optimizer": optimizer, "trainer": trainer, "schedule": schedule}
saving = Checkpoint(
    objects,
    DiskSaver("checkpoints", create_dir=True, require_empty=False),
    n_saved=1,
    global_step_transform=global_step_from_engine(trainer),
)
trainer.add_event_handler(Events.EPOCH_COMPLETED, saving)
if args.resume_from:
    Checkpoint.load_objects(objects, torch.load(args.resume_from))
trainer.run(train, max_epochs=3)
torch.save(model.state_dict(), "final.pt")
