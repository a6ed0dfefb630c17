# may be confirmed: clock
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset
from training import make_data, make_net, train


class Noisy(Dataset):
    def __init__(self):
        self.x, self.y = make_data()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index] * random.uniform(0.9, 1.1), self.y[index]


def init(worker):
    random.seed(time.time_ns() + worker)


if __name__ == "__main__":
    torch.manual_seed(0)
    net = make_net()
    for x, y in DataLoader(Noisy(), batch_size=16, num_workers=2, worker_init_fn=init):
        train(net, x, y, steps=1)
