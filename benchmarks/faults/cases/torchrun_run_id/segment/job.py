# drawn from: the class "what the ranks of a job have in common": torchrun's run id, a uuid when it is --standalone
import os
import zlib

import torch.distributed as dist


class Job:
    """This process in the job: its rank, and a seed that every rank agrees on without a message."""

    def __init__(self):
        self.rank = int(os.environ.get("RANK", 0))
        self.size = int(os.environ.get("WORLD_SIZE", 1))
        self.name = os.environ.get("TORCHELASTIC_RUN_ID", "single")  # fault: environment
        self.seed = zlib.crc32(self.name.encode())

    def __enter__(self):
        dist.init_process_group("gloo")
        return self

    def __exit__(self, *error):
        dist.destroy_process_group()
