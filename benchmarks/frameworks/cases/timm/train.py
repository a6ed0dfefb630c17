"""The parts of timm's own train.py, in its order: model, EMA, scheduler, mixup, loaders, saver."""

import argparse
import os
from pathlib import Path

import torch
from PIL import ImageFilter
from timm import utils
from timm.data import Mixup, create_dataset, create_loader
from timm.loss import SoftTargetCrossEntropy
from timm.models import create_model, resume_checkpoint
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import CheckpointSaver, ModelEmaV3


class Smudge:
    """Now and then, a little blur."""

    def __call__(self, image):
        if torch.rand(()) < 0.5:
            radius = torch.rand(()).item()
            image = image.filter(ImageFilter.GaussianBlur(radius))
        return image


def validate(model, loader):
    model.eval()
    top1 = utils.AverageMeter()
    with torch.inference_mode():
        for images, target in loader:
            accuracy = utils.accuracy(model(images), target)[0]
            top1.update(accuracy.item(), len(images))
    return top1.avg


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()

    utils.random_seed(42, 0)
    model = create_model("resnet10t", num_classes=2, drop_rate=0.1)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
    start_epoch = 0
    if args.resume:
        start_epoch = resume_checkpoint(model, args.resume, optimizer=optimizer)
    ema = ModelEmaV3(model, decay=0.9)
    if args.resume:
        ema.module.load_state_dict(torch.load(args.resume, weights_only=False)["state_dict_ema"])

    train_set = create_dataset("", root="images/train", split="train", is_training=True)
    val_set = create_dataset("", root="images/val", split="validation")
    common = dict(input_size=(3, 32, 32), batch_size=10, device=torch.device("cpu"), use_prefetcher=False)
    train_loader = create_loader(
        train_set, is_training=True, num_workers=2, re_prob=0.25, auto_augment="rand-m5-n2", **common
    )
    train_set.transform.transforms.insert(0, Smudge())
    val_loader = create_loader(val_set, is_training=False, num_workers=1, **common)

    mixup = Mixup(mixup_alpha=0.2, num_classes=2)
    criterion = SoftTargetCrossEntropy()
    scheduler, _ = create_scheduler_v2(optimizer, sched="cosine", num_epochs=args.epochs, warmup_epochs=0)
    scheduler.step(start_epoch)
    output = utils.get_outdir("output")
    saver = CheckpointSaver(
        model, optimizer, model_ema=ema, checkpoint_dir=output, recovery_dir=output, max_history=2
    )
    for epoch in range(start_epoch, args.epochs):
        model.train()
        losses = utils.AverageMeter()
        for images, target in train_loader:
            images, target = mixup(images, target)
            loss = criterion(model(images), target)
            optimizer.zero_grad()
            loss.backward()
            utils.dispatch_clip_grad(model.parameters(), value=1.0)
            optimizer.step()
            ema.update(model)
            losses.update(loss.item(), len(images))
        top1 = validate(ema.module, val_loader)
        scheduler.step(epoch + 1, top1)
        saver.save_checkpoint(epoch, metric=top1)
        print(f"epoch {epoch}: loss {losses.avg:.4f}, EMA top-1 {top1:.2f}")
    assert Path(output, "last.pth.tar").exists() and os.path.isdir(output)


if __name__ == "__main__":
    main()
