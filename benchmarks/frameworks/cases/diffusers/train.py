"""Unconditional generation as in diffusers' examples: UNet, DDPM noise, EMA, accelerate, checkpoints."""

import argparse
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
from diffusers.optimization import get_scheduler
from diffusers.training_utils import EMAModel


class Circles(torch.utils.data.Dataset):
    """Discs, each flipped or not."""

    def __len__(self):
        return 32

    def __getitem__(self, index):
        grid = torch.arange(8.0)
        x, y = grid - index % 8, grid[:, None] - index // 8
        image = ((x**2 + y**2) < 6).float() * 2 - 1
        if torch.rand(()) < 0.5:
            image = image.flip(1)
        return image[None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
    set_seed(0)
    model = UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        layers_per_block=1,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    ema = EMAModel(model.parameters(), decay=0.9)
    noise_scheduler = DDPMScheduler(num_train_timesteps=50)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(Circles(), batch_size=4, shuffle=True, num_workers=2)
    lr_scheduler = get_scheduler("cosine", optimizer, num_warmup_steps=2, num_training_steps=12)
    model, optimizer, loader, lr_scheduler = accelerator.prepare(model, optimizer, loader, lr_scheduler)
    accelerator.register_for_checkpointing(ema)
    first_epoch = 0
    if args.resume:
        accelerator.load_state("checkpoint")
        first_epoch = 2
    for epoch in range(first_epoch, 3):
        model.train()
        for clean in loader:
            noise = torch.randn(clean.shape)
            timesteps = torch.randint(0, 50, (len(clean),))
            noisy = noise_scheduler.add_noise(clean, noise, timesteps)
            with accelerator.accumulate(model):
                loss = F.mse_loss(model(noisy, timesteps).sample, noise)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                ema.step(model.parameters())
        print(f"epoch {epoch}: loss {loss.item():.4f}")
        pipeline = DDPMPipeline(accelerator.unwrap_model(model), noise_scheduler)
        pipeline.set_progress_bar_config(disable=True)
        generator = torch.Generator().manual_seed(0)
        pipeline(batch_size=2, generator=generator, num_inference_steps=3, output_type="np")
        if epoch == 1:
            accelerator.save_state("checkpoint")
    os.makedirs("output", exist_ok=True)
    pipeline.save_pretrained("output")


if __name__ == "__main__":
    main()
