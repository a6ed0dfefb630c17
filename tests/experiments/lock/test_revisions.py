"""Commits of a hub, by the paths of its caches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from samerun.experiments.lock.revisions import list_revisions
from samerun.experiments.verify.changed import list_changed
from samerun.runs.lock.file import FILE, read_lock, write_lock

from ..locking import Machine, lock_of, locked, made_request
from ..scripts import Script

ONE, OTHER = "a" * 40, "b" * 40


def test_the_caches_of_hugging_face_name_commits() -> None:
    assert list_revisions(
        [
            f"/home/ada/.cache/huggingface/hub/models--google--bert/snapshots/{ONE}/config.json",
            f"../hub/datasets--stanfordnlp--imdb/snapshots/{OTHER}/plain_text/train.parquet",
            f"/cache/hub/models--gpt2/snapshots/{ONE}/vocab.json",
            f"/cache/hub/models--gpt2/snapshots/{OTHER}/vocab.json",
            f"/cache/datasets/rajpurkar___squad/plain_text/0.0.0/{ONE}/dataset_info.json",
            "/cache/datasets/rajpurkar___squad/plain_text/0.0.0/short/dataset_info.json",
            "/cache/hub/models--gpt2/refs/main",
            f"data/{ONE}/train.txt",
        ]
    ) == {
        "datasets/rajpurkar/squad": ONE,
        "datasets/stanfordnlp/imdb": OTHER,
        "models/google/bert": ONE,
        "models/gpt2": f"{ONE} {OTHER}",
    }


def test_another_commit_is_named_as_a_changed_input(tmp_path: Path) -> None:
    from samerun.experiments.lock.observed import observe

    machine = Machine(Script())
    locked(machine, tmp_path)
    write_lock(replace(lock_of(tmp_path), revisions={"models/gpt2": ONE}), tmp_path / FILE)
    lock = read_lock(tmp_path / FILE)
    assert lock.revisions == {"models/gpt2": ONE}
    (environment,) = lock.environments.values()
    request = made_request(tmp_path)
    observed = observe(machine.record(request.launch, request.plan, request.workspace))
    assert list_changed(lock, environment, observed) == ()
    (changed,) = list_changed(lock, environment, replace(observed, revisions={"models/gpt2": OTHER}))
    assert (changed.kind, changed.text) == ("input", f"models/gpt2: {ONE} → {OTHER}")
