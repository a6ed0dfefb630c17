"""No password, token or key of a command line is kept, and everything else is."""

from __future__ import annotations

import pytest

from samerun.runs.secrets_in_text import HIDDEN, hide_in_text, hide_secrets

SECRET = "s3cr3t-W0rd"


@pytest.mark.parametrize(
    "words",
    [
        ("--token", SECRET),
        ("--hf_token", SECRET),
        ("--password", f"{SECRET} with a space"),
        ("--api-key", SECRET),
        ("--dbPassword", SECRET),
        (f"--api-key={SECRET}",),
        (f"--password={SECRET} with a space",),
        (f"HF_TOKEN={SECRET}",),
        (f"WANDB_API_KEY={SECRET}",),
        (f"+logger.wandb.api_key={SECRET}",),
        (f"https://me:{SECRET}@example.org/data",),
        (f"--url=https://{SECRET}@example.org/data",),
        (f"postgresql://me:{SECRET}@word@example.org/db",),
        (f"https://example.org/?token={SECRET}&part=1",),
        (f"https://example.org/?part=1&X-Amz-Signature={SECRET}",),
        ("-H", f"Authorization: Bearer {SECRET}"),
        ("-H", f"X-Token: Basic {SECRET}"),
        ("--settings", f'{{"lr": 1, "api_key": "{SECRET}"}}'),
        ("-c", f"python train.py --token {SECRET} --lr 3"),
        ("-c", f"HF_TOKEN='{SECRET}' python train.py"),
        ("-c", f"login(token='{SECRET}')"),
    ],
)
def test_a_secret_is_hidden(words: tuple[str, ...]) -> None:
    kept = hide_secrets(("python", "train.py", *words))
    assert kept[:2] == ("python", "train.py")
    assert len(kept) == 2 + len(words)
    assert SECRET not in " ".join(kept) and HIDDEN in " ".join(kept)
    assert hide_secrets(kept) == kept


@pytest.mark.parametrize(
    "secret",
    [
        "hf_abcdefghijklmnop",
        "ghp_0123456789abcdefABCDEF",
        "github_pat_11ABCDEFG",
        "glpat-abcdefgh123",
        "sk-proj-abcdefgh123",
        "xoxb-123456789012",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9",
        "0123456789abcdef0123456789abcdef01234567",
    ],
)
@pytest.mark.parametrize("around", ["{}", "--name={}", "name={}"])
def test_a_secret_is_known_by_its_form(secret: str, around: str) -> None:
    assert hide_secrets(("python", around.format(secret))) == ("python", around.format(HIDDEN))


@pytest.mark.parametrize(
    "words",
    [
        ("--tokenizer", "bert", "--max-tokens", "512", "--num_tokens=9"),
        ("--pad-token", "<pad>", "--eos_token=</s>"),
        ("--key", "image", "--label-key=label", "--keys", "a"),
        ("--author", "me", "--use-auth", "--lr", "1e-3"),
        ("--name", "exp-resnet50-imagenet-pretrained-finetune-2"),
        ("model.attention.heads=8", "data.path=s3://bucket/data@v2/train"),
        ("-c", "import torch; x = torch.ones(3); print(x)"),
        ("https://example.org/data?page=2&size=3",),
        ("--secret",),
        ("--token=",),
    ],
)
def test_all_else_is_kept(words: tuple[str, ...]) -> None:
    assert hide_secrets(("python", "train.py", *words)) == ("python", "train.py", *words)


@pytest.mark.timeout(100)
@pytest.mark.parametrize("text", ["x" * 10**6, "a=" * 10**5, "--a " * 10**5, '"a' * 10**5, "://" * 10**5])
def test_a_long_word_takes_no_longer_than_it_is_long(text: str) -> None:
    hide_in_text(text)
