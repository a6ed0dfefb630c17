"""What a manifest may say of the world around a run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from samerun.runs.provenance import describe_git, select_environment


def test_the_environment_is_kept_by_allow_list() -> None:
    kept = {
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "2",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "TORCH_LOGS": "",
        "TORCHINDUCTOR_CACHE_DIR": "/tmp/x",
        "RANK": "1",
        "TZ": "Europe/Berlin",
        "TRITON_F32_DEFAULT": "ieee",
        "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "0",
        "FLASH_ATTENTION_DETERMINISTIC": "1",
        "MAMBA_DETERMINISTIC": "1",
        "CAUSAL_CONV1D_DETERMINISTIC": "1",
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        "NCCL_ALGO": "Ring",
        "RCCL_MSCCL_ENABLE": "0",
        "MIOPEN_FIND_MODE": "1",
        "ROCBLAS_DEFAULT_ATOMICS_MODE": "0",
        "HIPBLASLT_TUNING_FILE": "x",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "XLA_FLAGS": "--xla_gpu_deterministic_ops=true",
    }
    left_out = {
        "HOME": "/home/me",
        "AWS_SECRET_ACCESS_KEY": "x",
        "HF_TOKEN": "x",
        "WANDB_API_KEY": "x",
        "HOSTNAME": "box",
        "PYTHONPATH": "/x",
        "RANKED": "1",
        "NCCL_COMM_ID": "box:1234",
        "MY_OMP_NUM_THREADS": "1",
    }
    assert select_environment({**kept, **left_out}) == kept


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TORCH_HUB_TOKEN", "abc"),
        ("NCCL_AUTH", "abc"),
        ("HF_HUB_TOKEN", "abc"),
        ("TRANSFORMERS_KEY", "abc"),
        ("TORCH_KEY", "abc"),
        ("TORCH_HOME", "https://me:password@example.org/x"),
        ("TORCH_EXTRA", "hf_abcdefghijkl"),
        ("NCCL_EXTRA", "ghp_0123456789abcdef"),
        ("OMP_EXTRA", "0123456789abcdef0123456789abcdef"),
    ],
)
def test_what_looks_like_a_secret_is_left_out(name: str, value: str) -> None:
    assert select_environment({name: value}) == {}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    _git(folder, "init", "-q")
    return folder


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_repository(repository: Path) -> None:
    assert describe_git(repository) == {"commit": None, "dirty": True, "diff": None}
    (repository / "train.py").write_text("1\n")
    _git(repository, "add", ".")
    _git(repository, "commit", "-q", "-m", "first")
    commit = _git(repository, "rev-parse", "HEAD")
    assert describe_git(repository) == {"commit": commit, "dirty": False, "diff": None}
    (repository / "data").mkdir()
    digests = set()
    for text in ("2\n", "3\n"):
        (repository / "train.py").write_text(text)
        found = describe_git(repository / "data")
        assert found is not None
        assert (found["commit"], found["dirty"]) == (commit, True)
        digests.add(found["diff"])
    assert len(digests) == 2


def test_no_repository_or_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert describe_git(tmp_path) is None
    assert describe_git(tmp_path / "absent") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe_git(tmp_path) is None
