# drawn from: Stable-Baselines3 with a seed, which it gives to everything
"""DQN on CartPole."""

from stable_baselines3 import DQN

model = DQN(
    "MlpPolicy", "CartPole-v1", learning_starts=50, buffer_size=1000, device="cpu", verbose=1, seed=5
)
model.learn(300, log_interval=1)
