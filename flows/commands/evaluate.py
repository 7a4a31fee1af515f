"""Evaluates the user's own texts: DocLens, MED-OMIT, overlap and paired comparisons of any systems' outputs."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from flows.engine.lineage import store_folder
from flows.engine.params import load_params
from flows.engine.workspace import root
from flows.evaluation.estimate import estimate_calls, estimate_text
from flows.evaluation.folder import PAGE, evaluation_files, require_replaceable, write_evaluation
from flows.evaluation.forms import clinicians_agreement, form_files, require_files
from flows.evaluation.labels import label_files
from flows.evaluation.models import OFFLINE, chosen_models, with_roles
from flows.evaluation.run import run_evaluation
from flows.evaluation.work import Evaluation, read_data
from schemas.errors import ParamsError, VignetteError
from schemas.params.evaluate import Evaluate
from schemas.tables.metrics import METRICS
from tasks.reporting.evaluation_text import summary_text
from tasks.tracking.comparison import FEWEST

_TOO_SHORT = "List should have at least 1 item after validation, not 0"
EXPERIMENT = "evaluations"
"""MLflow experiment of the evaluations."""


def main(
    data: Annotated[str, typer.Argument(help="JSON Lines, JSON, CSV, parquet, dataset folder or Inspect eval log.")],
    outputs: Annotated[
        list[str] | None, typer.Option(help="Outputs of a further system: NAME=FILE; or a file, or a folder of files.")
    ] = None,
    metrics: Annotated[
        str, typer.Option(help="Comma-separated: doclens, med_omit, overlap, qa.")
    ] = "doclens,med_omit,overlap",
    judge: Annotated[str, typer.Option(help="offline (rules), a role of params.yaml, or MODEL@URL.")] = OFFLINE,
    writer: Annotated[str, typer.Option(help="The same for the writer of --write.")] = OFFLINE,
    answerer: Annotated[str | None, typer.Option(help="The same for the answerer of qa (default: the judge).")] = None,
    write: Annotated[
        list[int] | None, typer.Option(help="Have the writer make cited outputs, with 0, 1 or 2 in-context examples.")
    ] = None,
    write_by: Annotated[
        list[str] | None, typer.Option(help="Outputs of the writer: whole (default), or section of a SOAP note.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write, in place of an earlier evaluation.")] = Path("evaluation"),
    claims: Annotated[str | None, typer.Option(help="File with claims of the references: id and claims.")] = None,
    map_: Annotated[list[str] | None, typer.Option("--map", help="FIELD=COLUMN, for example reference=note.")] = None,
    sections: Annotated[str, typer.Option(help="auto, whole, given, soap or headings.")] = "auto",
    omissions: Annotated[str, typer.Option(help="MED-OMIT on: auto, whole or history.")] = "auto",
    planted: Annotated[int, typer.Option(help="References into which errors are planted, to measure the judge.")] = 0,
    forms: Annotated[
        bool, typer.Option("--forms", help="Write a form for each system: clinicians check omissions.")
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Write a sheet for each system: people label the judge's verdicts.")
    ] = False,
    returned: Annotated[list[str] | None, typer.Option(help="Returned form of a system: SYSTEM=FILE.")] = None,
    documents: Annotated[int | None, typer.Option(help="Only the first documents.")] = None,
    split: Annotated[str | None, typer.Option(help="Split of a dataset folder.")] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Score empty outputs instead of refusing them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print calls and cost instead; asks no model.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
    params: Annotated[Path | None, typer.Option(help="Params file (default: params.yaml of the clone).")] = None,
    mlflow: Annotated[bool, typer.Option(help="Record the metrics in the clone's MLflow store.")] = True,
) -> None:
    """Evaluate outputs of one or more systems, and write tables, paired comparisons and report.html into a folder."""
    values: dict[str, object] = {
        "data": data,
        "outputs": outputs or [],
        "claims": claims,
        "map": dict(_pair(entry, "--map") for entry in map_ or []),
        "split": split,
        "documents": documents,
        "allow_empty": allow_empty,
        "metrics": list(dict.fromkeys(name.strip() for name in metrics.split(",") if name.strip())),
        "sections": sections,
        "omissions": omissions,
        "write": write or [],
        "write_by": write_by or ["whole"],
        "planted": planted,
    }
    chosen = checked(values)
    back = [(system, Path(file)) for system, file in (_pair(entry, "--returned") for entry in returned or [])]
    if (forms or back) and "med_omit" not in chosen.metrics:
        raise ParamsError("--forms and --returned are about the facts of MED-OMIT; add med_omit to --metrics")
    if labels and "doclens" not in chosen.metrics:
        raise ParamsError("--labels lists the claims of DocLens; add doclens to --metrics")
    require_files(back)
    require_replaceable(out)
    loaded = with_roles(load_params(params or root() / "params.yaml"), chosen_models(judge, writer, answerer))
    found = read_data(chosen)
    if dry_run:
        print(estimate_text(asyncio.run(estimate_calls(loaded, chosen, found))))
        return
    evaluation, manifest = asyncio.run(run_evaluation(loaded, chosen, found, confirmed=yes))
    if back:
        agreement = clinicians_agreement(evaluation, back, loaded.med_omit.form, seed=loaded.seed)
        evaluation = evaluation.with_table("clinicians", agreement, METRICS)
    more = form_files(evaluation, loaded.med_omit.form, seed=loaded.seed) if forms else {}
    more |= label_files(evaluation, seed=loaded.seed) if labels else {}
    write_evaluation(out, evaluation_files(evaluation, manifest, Path(data).name, more))
    if mlflow:
        _record(out, evaluation)
    tables, failed = evaluation.table, len(evaluation.table("unscored"))
    print(summary_text(tables("metrics"), tables("comparisons"), evaluation.systems, unscored=failed, fewest=FEWEST))
    print(f"\nwritten: {out / PAGE}, {out / 'tables'}, {out / 'manifest.json'}")


def checked(values: dict[str, object]) -> Evaluate:
    """The settings of an evaluation. Raises ParamsError with one line for each invalid option."""
    try:
        return Evaluate.model_validate(values)
    except ValidationError as error:
        lines = [
            f"--{'.'.join(map(str, problem['loc']))} is {problem['input']!r}; "
            + problem["msg"].replace("Input should be", "expected").replace(_TOO_SHORT, "expected at least one")
            for problem in error.errors()
        ]
        raise ParamsError("\n".join(lines)) from error


def _pair(entry: str, option: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not (name and equals and value):
        expected = "FIELD=COLUMN, for example --map reference=note" if option == "--map" else "SYSTEM=FILE"
        raise ParamsError(f"{option} {entry}: expected {expected}")
    return name, value


def _record(out: Path, evaluation: Evaluation) -> None:
    """Write the metrics to MLflow; the evaluation stays valid when that fails."""
    from tasks.tracking.mlflow_store import LineageStore  # loads mlflow, which takes seconds

    try:
        LineageStore(store_folder(), EXPERIMENT).write_evaluation(out.resolve().name, out, evaluation.table("metrics"))
    except (OSError, VignetteError) as error:
        print(f"evaluate: not recorded in MLflow ({error})", file=sys.stderr)
