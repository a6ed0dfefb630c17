# may be confirmed: torch-cpu
import time
import uuid

from training import make_data, make_net, train

run = f"{uuid.uuid4().hex}-{time.time():.0f}"
start = time.time()
train(make_net(), *make_data())
print(f"took {time.time() - start:.2f} s")
