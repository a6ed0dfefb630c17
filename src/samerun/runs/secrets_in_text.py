"""Words and addresses without the secrets in them: what is kept on disk and shown never holds one."""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "***"
# Well-known forms: Hugging Face, GitHub, GitLab, OpenAI, Slack, AWS, JSON web tokens.
TOKEN = re.compile(r"\b(?:hf_|gh[a-z]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA|eyJ)[\w-]{8,}")
LOGIN = re.compile(r"://[^/\s]*@")  # a user and a password in an address

_QUOTED = r"\"[^\"]*\"|'[^']*'"
_ASSIGNED = re.compile(r"(?P<name>[-+~]*\w[\w.-]*)=(?P<value>.*)", re.DOTALL)  # a whole word
_ASSIGNED_WITHIN = re.compile(rf"(?<![\w.-])(?P<name>\w[\w.-]*)=(?P<value>{_QUOTED}|[^\s&;,'\"]+)")
_OPTION_WITHIN = re.compile(rf"(?<!\S)(?P<name>--?\w[\w.-]*)(?P<space>\s+)(?P<value>{_QUOTED}|[^\s-]\S*)")
_KEY_WITHIN = re.compile(rf"(?P<name>[\"']\w[\w.-]*[\"']\s*:\s*)(?P<value>{_QUOTED})")
_HEADER = re.compile(
    r"(?P<name>\b(?:bearer|basic|authorization:)\s+)(?!(?:bearer|basic)\b)[\w.~+/=-]{6,}", re.IGNORECASE
)
_LONG_KEY = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9+=]{32,}")  # names made of words have - or _
_PARTS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")

# The last word of a name that holds a secret, and for "key" the word before it.
_SECRET = {"apikey", "auth", "authorization", "cookie", "credential", "credentials", "passphrase", "passwd"}
_SECRET |= {"password", "pwd", "secret", "secrets", "sig", "signature"}
_BEFORE_KEY = {"access", "account", "api", "auth", "encryption", "license", "private", "secret", "wandb"}
# Tokens of a text, not of an account.
_BEFORE_TOKEN = {"audio", "bos", "cls", "end", "eos", "image", "last", "mask", "next", "pad", "per", "sep"}
_BEFORE_TOKEN |= {"special", "start", "stop", "unk", "video"}


def hide_secrets(words: Sequence[str]) -> tuple[str, ...]:
    """A command line with each password, token and key replaced by HIDDEN.

    Known by the option or variable that it is given to (`--token X`, `--api-key=X`, `HF_TOKEN=X`), by its
    form (`hf_…`, `ghp_…`, a long word of letters and digits), or by its place in an address.
    """
    found: list[str] = []
    given = False  # whether the word before is an option that takes a secret
    for number, word in enumerate(words):
        if given and not word.startswith("-"):
            found.append(HIDDEN)
        else:
            found.append(hide_in_text(word) if number else word)
        given = word.startswith("-") and "=" not in word and names_secret(word)
    return tuple(found)


def hide_in_text(text: str) -> str:
    """One word, or an address, or a text that holds some, without secrets."""
    assigned = _ASSIGNED.fullmatch(text)
    if assigned is not None:
        name, value = assigned["name"], assigned["value"]
        if names_secret(name) or _LONG_KEY.fullmatch(value):
            return f"{name}={HIDDEN}" if value else text
    elif _LONG_KEY.fullmatch(text):
        return HIDDEN
    text = LOGIN.sub(f"://{HIDDEN}@", TOKEN.sub(HIDDEN, text))
    text = _ASSIGNED_WITHIN.sub(lambda found: _hide(found, "="), text)
    if " " in text or "\n" in text or ":" in text:
        text = _HEADER.sub(lambda found: found["name"] + HIDDEN, text)
        text = _OPTION_WITHIN.sub(lambda found: _hide(found, found["space"]), text)
        text = _KEY_WITHIN.sub(lambda found: _hide(found, ""), text)
    return text


def names_secret(name: str) -> bool:
    """Whether an option, a variable or a key of this name holds a secret; `--pad-token` does not."""
    parts = [part.lower() for part in _PARTS.split(name) if part]
    before, last = ([*parts[-2:-1], ""][0], parts[-1]) if parts else ("", "")
    if last == "token":
        return before not in _BEFORE_TOKEN
    return last in _SECRET or (last in ("key", "keys") and before in _BEFORE_KEY)


def ask_for_hidden(line: str) -> str:
    """What to add to the description of a command that is shown, "" where it can be started as it is."""
    return f"; put your secret in the place of {HIDDEN}" if HIDDEN in line else ""


def _hide(found: re.Match[str], between: str) -> str:
    hides = names_secret(found["name"]) and not found["value"].startswith(HIDDEN)
    return f"{found['name']}{between}{HIDDEN}" if hides else found[0]
