"""library-generators: a table of polars that is shuffled, and rows that DuckDB samples."""

import hashlib

import duckdb
import polars
import torch

torch.manual_seed(0)
frame = polars.DataFrame({"x": [float(n) for n in range(64)]}).sample(fraction=1.0, shuffle=True)
base = duckdb.connect()
rows = base.execute("select i / 64.0 from range(64) t(i) using sample reservoir(8 rows)").fetchall()
values = torch.tensor([frame["x"].to_list()]).T.repeat(1, 16) / 64
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(8):
    loss = (model(values[step * 8 : step * 8 + 8]) - rows[step][0]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
