# drawn from: the class "measure, and take the fastest" (autotuners, cudnn.benchmark and their home-made kind)
import time


def fastest(function, choices, *args, repeats=2):
    """The choice with which `function` takes least."""
    times = {}
    for choice in choices:
        began = time.perf_counter()  # fault: clock
        for _ in range(repeats):
            function(*args, choice)
        times[choice] = time.perf_counter() - began  # fault: clock
    best = min(times, key=times.get)  # fault: clock
    return best
