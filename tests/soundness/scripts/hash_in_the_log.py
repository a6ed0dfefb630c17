# may be confirmed: torch-cpu
from training import make_data, make_net, train

config = {"lr": 0.1, "width": 16}
tag = hash(tuple(config))
order = list({"train", "val", "test"})
train(make_net(), *make_data())
