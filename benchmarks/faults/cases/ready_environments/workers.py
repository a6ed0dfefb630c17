"""Environments in processes of their own, asked over pipes."""

import multiprocessing as mp
from multiprocessing.connection import wait

import numpy as np


class Track:
    """Follow a moving target on a line; some tracks are slower to simulate."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.inner = 10 + 40 * (seed % 3)
        self.reset()

    def reset(self):
        self.position, self.target, self.steps = 0.0, self.rng.uniform(-2, 2), 0
        return self.observe()

    def observe(self):
        return np.array([self.position, self.target, self.target - self.position, self.steps / 20], np.float32)

    def step(self, action):
        for _ in range(self.inner):
            self.position += (action - 1) * 0.3 / self.inner
            np.linalg.norm(np.full((20, 20), self.position) @ np.eye(20))
        self.target += self.rng.normal(0, 0.05)
        self.steps += 1
        reward = -abs(self.target - self.position)
        done = self.steps >= 20
        return (self.reset() if done else self.observe()), reward, done


def serve(pipe, seed):
    env = Track(seed)
    pipe.send((env.reset(), 0.0, False))
    while (action := pipe.recv()) is not None:
        pipe.send(env.step(action))


class AsyncEnvironments:
    """Hands out the transitions of whichever environments are ready."""

    def __init__(self, count, seed):
        self.pipes, self.processes = [], []
        for number in range(count):
            here, there = mp.Pipe()
            process = mp.Process(target=serve, args=(there, seed + number), daemon=True)
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)

    def ready(self, at_least):
        """[(pipe, (observation, reward, done))] of at least so many environments."""
        answers = []
        waiting = list(self.pipes)
        while len(answers) < at_least:
            for pipe in wait(waiting):  # fault: worker-arrival
                answers.append((pipe, pipe.recv()))  # fault: worker-arrival
                waiting.remove(pipe)
        return answers

    def close(self):
        for pipe in self.pipes:
            try:
                pipe.send(None)
            except BrokenPipeError:
                pass
        for process in self.processes:
            process.join(timeout=2)
