# may be confirmed: system-reads
import socket

import torch
from training import make_data, make_net, train


def find_free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


port = find_free_port()
torch.manual_seed(port)
train(make_net(), *make_data())
