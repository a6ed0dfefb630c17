"""A small project, much of it behind links, and all that can be seen of the user's files."""

from __future__ import annotations

import os
from pathlib import Path

TRAIN = """\
import random, torch
import beside, package.model, module
data = torch.tensor([float(line) for line in open("data/numbers.txt")])
with open("shared.txt") as file:
    scale = float(file.read())
model = package.model.make()
for step in range(3):
    x = data[:4] * random.random() * module.factor() * beside.ONE * scale
    loss = model(x).sum()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
print("loss", loss.item())
"""


def project(folder: Path) -> Path:
    """project/ with links to outside/: the script, a module, a package, a folder of data, a hard link."""
    outside, work = folder / "outside", folder / "project"
    (outside / "code" / "package").mkdir(parents=True)
    (outside / "data").mkdir()
    work.mkdir()
    (outside / "code" / "train.py").write_text(TRAIN)
    (outside / "code" / "beside.py").write_text("ONE = 1.0\n")  # found where the script really lies
    (outside / "code" / "module.py").write_text("import random\ndef factor(): return 1 + random.random()\n")
    (outside / "code" / "package" / "__init__.py").write_text("")
    (outside / "code" / "package" / "model.py").write_text(
        "import torch\ndef make(): return torch.nn.Linear(4, 1)\n"
    )
    (outside / "data" / "numbers.txt").write_text("\n".join(map(str, range(8))))
    (outside / "hard.txt").write_text("0.5")
    (work / "train.py").symlink_to("../outside/code/train.py")
    (work / "module.py").symlink_to(outside / "code" / "module.py")
    (work / "package").symlink_to("../outside/code/package")
    (work / "data").symlink_to(outside / "data")
    os.link(outside / "hard.txt", work / "shared.txt")
    return work


def seen(folder: Path) -> dict[str, tuple[object, ...]]:
    """Each name below `folder`, `.samerun` left out: its kind, mode, inode, links, times and content."""
    found: dict[str, tuple[object, ...]] = {}
    for here, folders, files in os.walk(folder):
        if ".samerun" in folders:
            folders.remove(".samerun")
        for name in (*folders, *files):
            path = os.path.join(here, name)
            status = os.lstat(path)
            if os.path.islink(path):
                content: object = os.readlink(path)
            else:
                content = Path(path).read_bytes() if os.path.isfile(path) else None
            own: tuple[object, ...] = (status.st_mode, status.st_ino)
            if not os.path.isdir(path) or os.path.islink(
                path
            ):  # a folder's change when .samerun is made in it
                own += (status.st_nlink, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            found[path] = (*own, content)
    return found
