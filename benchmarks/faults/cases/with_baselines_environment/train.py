# drawn from: Stable-Baselines3 seeds its environments only when the algorithm is given a seed
"""PPO on CartPole."""

import numpy as np
import torch
from stable_baselines3 import PPO

torch.manual_seed(0)
np.random.seed(0)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, device="cpu", verbose=1)
model.learn(256)  # fault: numpy-generator
