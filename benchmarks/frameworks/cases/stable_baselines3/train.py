"""PPO on a task of one's own, with evaluations and checkpoints by callbacks."""

import sys

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CheckpointCallback, EvalCallback
from stable_baselines3.common.env_util import make_vec_env


class Target(gym.Env):
    """Move a point to a target that lies elsewhere in each episode."""

    observation_space = spaces.Box(-2, 2, (2,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0.0
        self.target = self.np_random.uniform(-1, 1)
        self.left = 16
        return self._look(), {}

    def step(self, action):
        self.at = float(np.clip(self.at + 0.3 * action[0], -2, 2))
        self.left -= 1
        return self._look(), -abs(self.at - self.target), False, self.left == 0, {}

    def _look(self):
        return np.array([self.at, self.target], np.float32)


env = make_vec_env(Target, n_envs=2, seed=42)
saving = CheckpointCallback(save_freq=32, save_path="checkpoints", name_prefix="ppo")
evaluation = EvalCallback(make_vec_env(Target, seed=7), eval_freq=64, best_model_save_path="best")
if "--resume" in sys.argv:
    model = PPO.load("checkpoints/ppo_128_steps", env=env, device="cpu")
    model.learn(64, callback=[saving, evaluation], reset_num_timesteps=False)
else:
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=2, seed=42, device="cpu", verbose=1)
    model.learn(192, callback=[saving, evaluation])
model.save("final")
