# drawn from: pytorch/pytorch#5059 (one generator a worker, made in it, so that the workers differ)
import torch
from data import SineDataset
from torch import nn
from torch.utils.data import DataLoader


def build_model():
    return nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))


def run(epochs=2):
    torch.manual_seed(3)
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    loader = DataLoader(
        SineDataset(320),
        batch_size=32,
        num_workers=2,
        persistent_workers=True,
        multiprocessing_context="spawn",
    )
    for epoch in range(epochs):
        for wave, freq in loader:
            optimizer.zero_grad()
            loss = nn.functional.l1_loss(model(wave).squeeze(1), freq)
            loss.backward()
            optimizer.step()
        print(f"epoch={epoch} loss={loss.item():.6f}")


if __name__ == "__main__":
    run()
