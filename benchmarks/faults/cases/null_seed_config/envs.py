# drawn from: the class "a key that is not there": cfg.get("seed") is None, and SeedSequence(None) takes the system's entropy
import numpy as np


class Lander:
    """One dimension; the reward is less for a hard landing."""

    def __init__(self, rng):
        self.rng = rng
        self.reset()

    def reset(self):
        self.height, self.speed = self.rng.uniform(5, 10), 0.0
        return self.observe()

    def observe(self):
        return np.array([self.height / 10, self.speed / 5], dtype=np.float32)

    def step(self, thrust):
        self.speed += 0.1 * (2.0 * thrust - 1.0) + self.rng.normal(0, 0.02)
        self.height += 0.5 * self.speed
        if self.height <= 0:
            reward = -abs(self.speed)
            self.reset()
            return self.observe(), reward
        return self.observe(), -0.01


class VectorEnv:
    def __init__(self, cfg):
        root = np.random.SeedSequence(cfg.get("seed"))  # fault: numpy-generator
        self.envs = [Lander(np.random.default_rng(child)) for child in root.spawn(cfg["count"])]  # fault: numpy-generator

    def reset(self):
        return np.stack([env.reset() for env in self.envs])  # fault: numpy-generator

    def step(self, actions):
        seen, rewards = zip(*(env.step(a) for env, a in zip(self.envs, actions)))
        return np.stack(seen), np.array(rewards, dtype=np.float32)
