"""Results in MLflow: https://mlflow.org/docs/latest/tracking.html."""

from __future__ import annotations

import shlex
from typing import Any

from samerun.errors import RunError, UsageError
from samerun.experiments.study.tasks import Task, TaskResult
from samerun.runs.secrets_in_text import hide_secrets

EXPERIMENT = "samerun study"
_KEY = "samerun.key"


class Tracking:
    """One MLflow run for each result, in the experiment "samerun study", none of them twice."""

    def __init__(self, uri: str) -> None:
        """Raises UsageError when MLflow is not installed or nothing answers at `uri`."""
        try:
            from mlflow import MlflowClient
        except ImportError:
            message = "--mlflow needs MLflow; install it with: pip install 'samerun[mlflow]'"
            raise UsageError(message) from None
        self._uri = uri
        self._client: Any = MlflowClient(tracking_uri=uri)
        try:
            experiment = self._client.get_experiment_by_name(EXPERIMENT)
            self._id = experiment.experiment_id if experiment else self._client.create_experiment(EXPERIMENT)
            self._known = self._logged()
        except Exception as error:  # of many kinds, by the store behind it
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise UsageError(f"--mlflow {uri} does not answer as MLflow does: {said[0][:200]}") from None

    def log(self, task: Task, done: TaskResult) -> None:
        """Keep one result. Raises RunError when the server does not take it."""
        if done.key in self._known or done.value is None:
            return
        try:
            run = self._client.create_run(
                self._id, tags={_KEY: done.key, "samerun.run": done.run}, run_name=f"study-{done.key[:8]}"
            )
            for name, value in self._params(task):
                self._client.log_param(run.info.run_id, name, value)
            self._client.log_metric(run.info.run_id, "metric", done.value)
            self._client.log_metric(run.info.run_id, "seconds", done.seconds)
            self._client.set_terminated(run.info.run_id)
        except Exception as error:
            raise RunError(
                f"MLflow at {self._uri} did not take a result ({str(error).splitlines()[0][:200]}). "
                "It is kept here; start the study again to send it."
            ) from None
        self._known.add(done.key)

    def _params(self, task: Task) -> list[tuple[str, str]]:
        seeds = [(f"seed.{source}", str(seed)) for source, seed in task.seeds.items()]
        command = shlex.join(hide_secrets(task.command))[:500]
        return [("command", command), ("metric", task.metric[:500]), ("mode", task.mode), *seeds]

    def _logged(self) -> set[str]:
        known: set[str] = set()
        token = None
        while True:
            page = self._client.search_runs([self._id], max_results=1000, page_token=token)
            known |= {run.data.tags[_KEY] for run in page if _KEY in run.data.tags}
            token = page.token
            if not token:
                return known
