"""A module of `samerun.integrations` needs its framework: one clear line where that is not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from samerun.errors import FrameworkNeeded
from samerun.torch_version import require_torch


@contextmanager
def need_framework(module: str, package: str) -> Iterator[None]:
    """Around the imports of `package` in `samerun.integrations.<module>`.

    Raises FrameworkNeeded where it is not installed, and TorchNeeded without a torch that samerun can use;
    any other error of an import is the framework's own.
    """
    name = f"samerun.integrations.{module}"
    require_torch(name)
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package.replace("-", "_").removeprefix("pytorch_"):
            raise
        raise FrameworkNeeded(
            f"{name} needs {package}, and {sys.executable} does not have it. Install it there: "
            f"{sys.executable} -m pip install {package}"
        ) from None
