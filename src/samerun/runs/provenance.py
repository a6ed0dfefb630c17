"""What a run was made of, as far as it may be kept: the commit, and the environment by allow-list."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samerun.runs.secrets_in_text import LOGIN, TOKEN

# Variables that can change the numbers of a training. A name that ends with * is a prefix.
ALLOWED = frozenset(
    {
        "ACCELERATE_*",
        "ATEN_CPU_CAPABILITY",
        "CAUSAL_CONV1D_*",
        "CUBLASLT_*",
        "CUBLAS_*",
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_MODULE_LOADING",
        "CUDA_VISIBLE_DEVICES",
        "CUDNN_*",
        "DNNL_*",
        "FLASH_ATTENTION_*",
        "FLA_*",
        "GOTO_NUM_THREADS",
        "HF_*",
        "HIPBLASLT_*",
        "HIPBLAS_*",
        "HIP_VISIBLE_DEVICES",
        "HSA_*",
        "KMP_*",
        "LANG",
        "LC_ALL",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MAMBA_*",
        "MIOPEN_*",
        "MKL_*",
        "NCCL_*",
        "NPY_DISABLE_CPU_FEATURES",
        "NUMEXPR_*",
        "NVIDIA_TF32_OVERRIDE",
        "NVTE_*",
        "OMP_*",
        "ONEDNN_*",
        "OPENBLAS_*",
        "PYTHONHASHSEED",
        "PYTORCH_*",
        "RANK",
        "RCCL_*",
        "ROCBLAS_*",
        "ROCR_VISIBLE_DEVICES",
        "TOKENIZERS_PARALLELISM",
        "TORCH*",
        "TRANSFORMERS_*",
        "TRITON_*",
        "TZ",
        "WORLD_SIZE",
        "XFORMERS_*",
        "XLA_*",
    }
)
_EXACT = ALLOWED - {name for name in ALLOWED if name.endswith("*")}
_PREFIXES = tuple(name[:-1] for name in ALLOWED if name.endswith("*"))
# torchrun's run id and files, and the address of a host: other in every run, and of no effect.
_OF_THE_LAUNCH = ("TORCHELASTIC_", "NCCL_COMM_ID", "RCCL_COMM_ID")
_SECRET_NAME = re.compile(r"TOKEN(?!IZ)|SECRET|PASSW|CREDENTIAL|AUTH|(^|_)KEYS?($|_)|COOKIE", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    f"{LOGIN.pattern}|{TOKEN.pattern}"
    r"|^(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9+=_-]{32,}$"  # one long word of letters and digits
)
_GIT_S = 5.0


def select_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Those of `variables` that may be kept in a manifest."""
    return {
        name: value
        for name, value in sorted(variables.items())
        if (name in _EXACT or name.startswith(_PREFIXES))
        and not name.startswith(_OF_THE_LAUNCH)
        and not _SECRET_NAME.search(name)
        and not _SECRET_VALUE.search(value)
    }


def has_secret_name(name: str) -> bool:
    """Whether a variable's name says that its value is a secret."""
    return _SECRET_NAME.search(name) is not None


def describe_git(cwd: Path) -> dict[str, Any] | None:
    """The state of the repository that holds `cwd`; None outside one, without git, or when git is too slow.

    `commit` (None before the first), `dirty` (whether tracked files differ from it) and `diff`, the sha256
    of that difference (None when there is none).
    """
    try:
        if run_git(cwd, "rev-parse", "--is-inside-work-tree").strip() != b"true":
            return None
        try:
            commit = run_git(cwd, "rev-parse", "--verify", "-q", "HEAD").decode().strip()
        except subprocess.CalledProcessError:
            return {"commit": None, "dirty": True, "diff": None}
        diff = run_git(cwd, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "HEAD")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return {"commit": commit, "dirty": bool(diff), "diff": hashlib.sha256(diff).hexdigest() if diff else None}


def run_git(cwd: Path, *arguments: str) -> bytes:
    """What git prints in `cwd`. Raises OSError and subprocess.SubprocessError."""
    # fsmonitor is a program that a repository's configuration can name: a stranger's must not run here.
    command = ["git", "-c", "core.fsmonitor=false", "--no-optional-locks", *arguments]
    done = subprocess.run(
        command, cwd=cwd, timeout=_GIT_S, check=True, stdin=subprocess.DEVNULL, capture_output=True
    )
    return done.stdout
