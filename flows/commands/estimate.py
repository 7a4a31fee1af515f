"""Estimates what each stage would cost before anything is paid, also from a trial on a few records."""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from flows.lineage.recorded import OwnClone
from flows.repository.git import uncommitted
from flows.repository.params import load_params, response_store, run_budget
from flows.repository.pipeline import MAIN
from flows.repository.terminal import fitted, terminal_width
from flows.repository.workspace import STORE, workspace
from schemas.params import Params

if TYPE_CHECKING:
    from flows.runtime.costs import Line

_NAMED = 5
"""Most files that are named."""
_NOT_CLONED = ("params.yaml", "dvc.lock", "fingerprints/", "reports/", "returned/")
"""Params are copied to the clone; the others are written there, or belong to the notes of this lineage."""
ESTIMATED = ".vignette/full-run.yaml"
"""Params of the whole run, in the trial's clone."""


def main(
    records: Annotated[int | None, typer.Option(help="Number of records, instead of that in params.yaml.")] = None,
    pipeline: Path = Path("dvc.yaml"),
    params: Path = Path("params.yaml"),
) -> None:
    """Print the calls, tokens and dollars that each stage would take, before anything is paid.

    A stage that ran before, with the simulator or any other model, is counted from its requests in the response store,
    scaled where params have changed since; the others are estimated from their prompt files.
    """
    print_estimates(load_params(params), pipeline, records)


def print_estimates(
    params: Params, pipeline: Path, records: int | None = None, *, only: Collection[str] | None = None
) -> None:
    """Print the estimate of each stage, or of the stages ``only``, their sum, and what was spent already."""
    from flows.runtime.costs import OWN_METRICS, estimates

    lines, unknown = estimates(params, pipeline, records)
    if only is not None:
        lines, unknown = [line for line in lines if line.stage in only], [name for name in unknown if name in only]
    said = []
    if OWN_METRICS in unknown:
        unknown.remove(OWN_METRICS)
        said = [f"{OWN_METRICS}: the calls of a metric of your own are not known before it ran once with the simulator"]
    if unknown:
        stages = ", ".join(unknown)
        said.append(f"unknown: {stages}; run them once with the simulator, then their requests are counted")
    print_lines(lines, said)
    print_ledger(params)


def print_lines(lines: "Sequence[Line]", said: Sequence[str] = (), file: object = "the params file") -> None:
    """Print an estimate as a table, what is ``said`` of other calls, and what the table leaves out.

    ``file``: the params file, which may lack prices.
    """
    from flows.runtime.costs import remarks, table

    width = terminal_width()
    print(table(lines, width))
    for remark in [*said, *remarks(lines, file)]:
        print(fitted(remark, width))


def print_ledger(params: Params) -> None:
    """Print what was spent from the budget of a run, and its cap."""
    from tasks.transport.budget import Spent, caps_text
    from tasks.transport.database import exists
    from tasks.transport.inspection import ledgers, open_existing

    where, cap = response_store(params), run_budget(params)
    spent = Spent(0.0, 0, 0)
    if exists(where):
        with open_existing(where) as connection:
            spent = ledgers(connection).get(cap.ledger, spent)
    said = f"ledger {cap.ledger}: {spent.dollars:.2f} dollars and {spent.tokens} tokens spent; "
    print(fitted(f"{said}cap: {caps_text(cap) or 'none'}", terminal_width()))


def trial(
    records: Annotated[int, typer.Option(min=1, help="Number of records.")] = 10,
    folder: Annotated[Path | None, typer.Option(help="Clone to run in (default .vignette/trial).")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
) -> None:
    """Run every stage on a few records with the models of params.yaml, and print what the whole run would cost.

    The run has a clone of the last commit for itself: params.yaml, reports/ and dvc.lock stay as they are. It shares
    the response store and its ledger, so that no call is paid for twice and the budget holds for both.
    """
    params = load_params()
    content = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
    content.setdefault("runtime", {})["store"] = params.runtime.store or str((workspace() / STORE).resolve())
    if left_out := _left_out():
        print(left_out, file=sys.stderr)
    clone = OwnClone((folder or workspace() / "trial").resolve())
    clone.set_params(yaml.safe_dump(small(content, records), sort_keys=False, allow_unicode=True))
    clone.vignette("repro", *(["--yes"] if yes else []))
    full = clone.folder / ESTIMATED
    full.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    print(f"\nthe whole run, {params.sample.records:,} records, estimated from the trial's requests:", flush=True)
    clone.vignette("estimate", "--params", ESTIMATED, "--pipeline", str(MAIN))
    clone.complete()
    print(f"\nreport of the trial: {clone.folder / 'reports/index.html'}; to run it all: vignette repro")


def _left_out() -> str:
    """Says which changes the clone of the last commit lacks; empty where there is none but in what a run writes."""
    files = [file for file in uncommitted() if not file.startswith(_NOT_CLONED)]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    shown = f"{', '.join(files[:_NAMED])}{more}"
    return f"trial: runs on the last commit, without the changes in {shown}; commit them to try them" if files else ""


def small(content: dict[str, Any], records: int) -> dict[str, Any]:
    """The content of params.yaml with ``records`` records and evaluations of their size; smaller settings stay.

    The published size, prompts, models and what shapes a single call do not change.
    """
    sizes: dict[str, dict[str, int]] = {
        "sample": {"records": records},
        "report": {"notes": records},
        "doclens": {"notes": records},
        "med_omit": {"notes": records},
        "calibrate": {"notes": records},
        "span_review": {"notes": records},
        "review": {"with_symptoms": records, "without_symptoms": records},
        "planted_errors": {"each": records, "assertions": records},
        "note_qa": {"planted_questions": records},
        "visits": {"patients": max(1, records // 2)},
        "history_qa": {"planted_questions": records},
    }
    changed = {
        section: {**content[section], **{n: min(content[section][n], value) for n, value in of.items()}}
        for section, of in sizes.items()
    }
    patients = max(1, records // 10)
    changed["note_qa"]["patients_by_notes"] = [min(n, patients) for n in content["note_qa"]["patients_by_notes"]]
    changed["visits"]["long_visits"] = [n for n in content["visits"]["long_visits"] if n <= records]
    return {**content, **changed}
