"""The watch as a Prefect flow, for `python -m flows.watch serve` and for a work pool (prefect.yaml)."""

from prefect import flow

from flows.watch import watch_once


@flow(name="watch", persist_result=False, log_prints=True)
def watch(dry_run: bool = False) -> str:
    """One round: probe, and rebuild what depends on a model that changed."""
    outcome = watch_once(dry_run=dry_run)
    print(outcome)
    return str(outcome)
