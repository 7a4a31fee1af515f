"""The watch as a Prefect flow, for `vignette watch serve` and for a work pool (prefect.yaml)."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.commands.watch import watch_once


@flow(name="watch", persist_result=False)
def watch(dry_run: bool = False) -> State[Any]:
    """One round: probe, and rebuild what depends on a model that changed; the run's state says what came of it."""
    outcome = watch_once(dry_run=dry_run)
    print(outcome, flush=True)
    return Failed(message=str(outcome)) if outcome.state == "failed" else Completed(message=str(outcome))
