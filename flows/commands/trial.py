"""Runs every stage on a few records and estimates what the whole run would cost, or only estimates it."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from flows.commands.estimate import print_estimates
from flows.lineage.recorded import OwnClone
from flows.repository.git import uncommitted
from flows.repository.params import load_params
from flows.repository.pipeline import MAIN
from flows.repository.workspace import STORE, workspace

_NAMED = 5
"""Most files that are named."""
_NOT_CLONED = ("params.yaml", "dvc.lock", "fingerprints/", "reports/", "returned/")
"""Params are copied to the clone; the others are written there, or belong to the notes of this lineage."""


def main(
    records: Annotated[
        int | None, typer.Option(min=1, help="Number of records (default 10; with --estimate, that of params.yaml).")
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Run nothing: only estimate the whole run.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
) -> None:
    """Run every stage on a few records with the models of params.yaml, and print what the whole run would cost.

    The run has a clone of the last commit for itself (.vignette/trial): params.yaml, reports/ and dvc.lock stay as they
    are. It shares the response store and its ledger, so that no call is paid for twice and the budget holds for both.

    A stage that ran before, with the simulator or any other model, is estimated from its requests in the response
    store, scaled where params have changed since; the others are estimated from their prompt files.
    """
    params = load_params()
    if estimate:
        print_estimates(params, MAIN, records)
        return
    content = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
    content.setdefault("runtime", {})["store"] = params.runtime.store or str((workspace() / STORE).resolve())
    if left_out := _left_out():
        print(left_out, file=sys.stderr)
    clone = OwnClone((workspace() / "trial").resolve())
    few, whole = (
        yaml.safe_dump(one, sort_keys=False, allow_unicode=True) for one in (small(content, records or 10), content)
    )
    clone.set_params(few)
    clone.vignette("repro", *(["--yes"] if yes else []))
    print(f"\nthe whole run, {params.sample.records:,} records, estimated from the trial's requests:", flush=True)
    clone.set_params(whole)
    clone.vignette("trial", "--estimate")
    clone.set_params(few)
    clone.complete()
    print(f"\nreport of the trial: {clone.folder / 'reports/index.html'}; to run it all: vignette repro")


def _left_out() -> str:
    """Says which changes the clone of the last commit lacks; empty where there is none but in what a run writes."""
    files = [file for file in uncommitted() if not file.startswith(_NOT_CLONED)]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    shown = f"{', '.join(files[:_NAMED])}{more}"
    return f"trial: runs on the last commit, without the changes in {shown}; commit them to try them" if files else ""


def small(content: dict[str, Any], records: int) -> dict[str, Any]:
    """The content of params.yaml with ``records`` records, and visits, evaluations and training of their size.

    Smaller settings stay. The published size, prompts, models and what shapes a single call do not change.
    """
    least, patients = min(records, 10), max(1, records // 5)
    judged, planted = max(least, records // 2), max(least, records // 5)
    sizes: dict[str, dict[str, int]] = {
        "sample": {"records": records},
        **{
            name: {"notes": judged}
            for name, section in content.items()
            if isinstance(section, dict) and "notes" in section
        },
        "review": {"with_symptoms": judged, "without_symptoms": judged},
        "calibrate": {"notes": max(2, planted)},
        "planted_errors": {"each": planted, "assertions": planted},
        "note_qa": {"planted_questions": planted},
        "visits": {"patients": patients},
        "history_qa": {"planted_questions": planted, "long_questions": planted},
        "summarise": {"patients": patients, "judged": max(1, patients // 4)},
        "network": {"draws": max(100, records), "held_out": max(500, 10 * records)},
        "baselines": {"draws": max(100, records), "calibration_folds": max(2, records // 100)},
    }
    changed = {
        section: {**content[section], **{n: min(content[section][n], value) for n, value in of.items()}}
        for section, of in sizes.items()
    }
    noted, learned = content["note_qa"]["patients_by_notes"], changed["baselines"]
    changed["note_qa"]["patients_by_notes"] = [min(n, max(1, records // 10)) for n in noted]
    changed["visits"]["long_visits"] = [n for n in content["visits"]["long_visits"] if n <= judged]
    learned["seeds"] = learned["seeds"][: max(1, records // 200)]
    for section, of in {"xgboost": {"folds": 2, "verify": 1}, "neural": {"least_rows": 2 * records}}.items():
        fewer = {n: min(learned[section][n], max(value, records // 200)) for n, value in of.items()}
        learned[section] = learned[section] | fewer
    return {**content, **changed}
