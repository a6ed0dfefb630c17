"""Actors write their episodes into shared memory, wherever there is room."""

import multiprocessing as mp
from multiprocessing import shared_memory

import numpy as np

LENGTH = 40
WIDTH = 5  # angle, speed, action, return, actor


def simulate(seed):
    """One episode of a pendulum with random pushes: rows of (angle, speed, action, return, actor)."""
    rng = np.random.default_rng(seed)
    angle, speed = rng.uniform(-1, 1, 2)
    rows = np.zeros((LENGTH, WIDTH), np.float32)
    rewards = np.zeros(LENGTH)
    for t in range(LENGTH):
        push = rng.uniform(-1, 1)
        rows[t, :3] = angle, speed, push
        speed += 0.1 * (np.sin(angle) + push) - 0.02 * speed
        angle += 0.1 * speed
        rewards[t] = -(angle**2) - 0.1 * speed**2
    for t in range(LENGTH):
        rows[t, 3] = np.sum(rewards[t:] * 0.95 ** np.arange(LENGTH - t))
    return rows


def act(actor, episodes, name, shape, cursor):
    """Body of an actor process."""
    memory = shared_memory.SharedMemory(name=name)
    buffer = np.ndarray(shape, np.float32, buffer=memory.buf)
    for number in range(episodes):
        rows = simulate(1000 * actor + number)
        rows[:, 4] = actor
        with cursor.get_lock():
            slot = cursor.value  # fault: thread-scheduling
            cursor.value += 1  # fault: thread-scheduling
        buffer[slot] = rows  # fault: thread-scheduling
    memory.close()


def collect(actors, episodes):
    """Episodes of all actors: array [actors * episodes, LENGTH, WIDTH]."""
    shape = (actors * episodes, LENGTH, WIDTH)
    memory = shared_memory.SharedMemory(create=True, size=int(np.prod(shape)) * 4)
    try:
        cursor = mp.Value("i", 0)
        workers = [mp.Process(target=act, args=(i, episodes, memory.name, shape, cursor)) for i in range(actors)]
        for worker in workers:
            worker.start()  # fault: thread-scheduling
        for worker in workers:
            worker.join()  # fault: thread-scheduling
        return np.ndarray(shape, np.float32, buffer=memory.buf).copy()  # fault: thread-scheduling
    finally:
        memory.close()
        memory.unlink()
