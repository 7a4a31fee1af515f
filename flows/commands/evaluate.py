"""Evaluates the user's own texts: measures and paired comparisons of any systems' outputs."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.repository.terminal import fitted, terminal_width
from schemas.errors import ParamsError

if TYPE_CHECKING:
    from flows.evaluation.work import Evaluation
    from schemas.params import Params
    from schemas.params.measures import Evaluate
    from tasks.texts.reading import DataSet

_TOO_SHORT = "List should have at least 1 item after validation, not 0"
EXAMPLE = Path(__file__).with_name("example.json")
"""Twelve invented notes, each with a reference and the outputs of two systems."""


def main(
    data: Annotated[
        str | None, typer.Argument(help="JSON Lines, JSON, CSV, Excel, parquet, text, folder or Inspect log.")
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Twelve documents that ship, by the simulator unless --judge names one.")
    ] = False,
    outputs: Annotated[
        list[str] | None,
        typer.Option(help="Outputs of a further system: NAME=FILE; or a file, a folder of files."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(help="Comma-separated measures, may be repeated (default: all that need no answerer)."),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Python file with metrics of your own, which is run; may be repeated.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="MODEL@URL, with settings MODEL@URL#temperature=null&send_seed=false; a role of params.yaml; or "
            "simulator (rules, for a dry run); named NAME=JUDGE; may be repeated."
        ),
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option(help="Of claims: strict, or clinician; may be repeated, to have both (default: doclens.style)."),
    ] = None,
    writer: Annotated[str | None, typer.Option(help="The same for the writer of --write (default: the judge).")] = None,
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
    planted: Annotated[int, typer.Option(help="References into which errors are planted, to measure the judge.")] = 0,
    card: Annotated[
        Path | None, typer.Option(help="Folder of the judge's card (vignette audit), by which scores are corrected.")
    ] = None,
    forms: Annotated[
        bool, typer.Option("--forms", help="Write forms for each system, on which clinicians check verdicts.")
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Write a sheet for each system: people label the judge's verdicts.")
    ] = False,
    returned: Annotated[list[str] | None, typer.Option(help="Returned form of a system: SYSTEM=FILE.")] = None,
    documents: Annotated[int | None, typer.Option(help="Only the first documents.")] = None,
    split: Annotated[str | None, typer.Option(help="Split of a dataset folder.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of files that are not UTF-8: windows-1252.")] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help='Score outputs "" of JSON, else refused; an empty cell is missing.')
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print calls and cost instead; asks no model.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run whatever it costs, up to the budget.")] = False,
    params: Annotated[Path | None, typer.Option(help="Params file (default: the clone's, or as it ships).")] = None,
) -> None:
    """Evaluate outputs of one or more systems, and write tables, paired comparisons and report.html into a folder."""
    data, judge = _given(data, judge, example)
    values: dict[str, object] = {
        "data": data,
        "outputs": outputs or [],
        "claims": claims,
        "map": mapped(map_ or []),
        "split": split,
        "encoding": encoding,
        "documents": documents,
        "allow_empty": allow_empty,
        "metrics": None if metrics is None else [one for name in metrics for one in name.replace(",", " ").split()],
        "own": metric or [],
        "sections": sections,
        "write": write or [],
        "write_by": write_by or ["whole"],
        "planted": planted,
    }
    # Options are checked before what judges is imported, which takes seconds.
    from flows.evaluation.judges import given_name, with_judges
    from flows.repository.params import load_params
    from flows.repository.workspace import params_file
    from flows.runtime.folders import EVALUATION_KIND, require_replaceable
    from tasks.transport.instructions import use_instruction_set

    loaded = load_params(params or params_file())
    use_instruction_set(loaded.runtime.instruction_set)  # before the imports below, which load NumPy
    chosen = checked(values)
    back = [(system, Path(file)) for system, file in (_pair(entry, "--returned") for entry in returned or [])]
    require_replaceable(out, EVALUATION_KIND)
    loaded, judges = with_judges(loaded, judge or [], writer, answerer, reading or [])

    from flows.evaluation.api import run_evaluation
    from flows.evaluation.cards import corrected, read_card
    from flows.evaluation.folder import evaluation_files, model_labels, write_evaluation
    from flows.evaluation.forms import clinicians_agreement, form_files, label_files, require_methods, require_returned
    from flows.evaluation.several_judges import require_work_of_judges
    from flows.evaluation.work import read_data, require_judge
    from tasks.measures.evaluation import plan_of
    from tasks.progress import CHUNK, progress

    found = read_data(chosen)
    _say(found.notes)
    # What is wrong with other files and names is said before anything is asked.
    if card is not None:
        read_card(card)
    plan = plan_of(chosen, found)
    require_methods(plan.metrics, forms=forms or bool(back), labels=labels)
    require_returned(back, plan.systems)
    require_judge(chosen, judge or [])
    require_work_of_judges(judges, chosen, found)
    if dry_run:
        _print_cost(loaded, chosen, found, judges, params or params_file())
        return
    seed, said = loaded.seed, [] if card is None else [f"{card}: corrects nothing, as no judge was asked"]
    with progress("evaluate", 0, CHUNK):
        evaluation, manifest = asyncio.run(run_evaluation(loaded, chosen, found, confirmed=yes, judges=judges))
        if card is not None and judge and "judge" in manifest["models"]:
            label = manifest["models"]["judge"]["label"]
            evaluation, said = corrected(evaluation, card, label, given_name(judge[0]), seed)
        if back:
            clinicians, answered = clinicians_agreement(evaluation, back, loaded)
            evaluation, said = evaluation.with_table("clinicians", clinicians), [*said, *answered]
        more = form_files(evaluation, loaded) if forms else {}
        more |= label_files(evaluation, seed=seed) if labels else {}
        files = evaluation_files(evaluation, manifest, Path(chosen.data).name, more)
        if other := write_evaluation(out, files):
            said.append(f"{out}: replaced the evaluation of {other}; --out names another folder")
    _say(said)
    _report(evaluation, model_labels(manifest), out)
    evaluation.require_scored()


def _given(data: str | None, judge: list[str] | None, example: bool) -> tuple[str, list[str] | None]:
    """The file and the judges, by default those of the example. Raises ParamsError for no file, or for two."""
    if (data is None) != example:
        raise ParamsError("expected a file with your documents, or --example for those that ship, and not both")
    return data or str(EXAMPLE), judge or (["simulator"] if example else None)


def _say(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"evaluate: {line}", file=sys.stderr)


def _print_cost(
    params: "Params", chosen: "Evaluate", data: "DataSet", judges: "Mapping[str, Params]", file: Path
) -> None:
    """Print the estimate of an evaluation; ``file``: the params file, which has the prices."""
    from flows.commands.estimate import print_lines
    from flows.evaluation.estimate import estimate_calls
    from flows.evaluation.work import asking_metrics

    said = []
    if asking := asking_metrics(chosen):
        said = [f"not counted: the calls of your own {', '.join(asking)}, which only its code knows"]
    print_lines(asyncio.run(estimate_calls(params, chosen, data, judges)), said, file)


def _report(evaluation: "Evaluation", models: dict[str, str], out: Path) -> None:
    """Print the summary and what was written."""
    from flows.evaluation.folder import PAGE
    from tasks.reporting.evaluation_text import judges_text, summary_text
    from tasks.text.language import foreign_texts

    tables, systems, size = evaluation.tables, evaluation.systems, len(evaluation.documents)
    foreign, width = foreign_texts((one.id, one.text) for one in evaluation.documents), terminal_width()
    said = summary_text(tables, systems, width=width, documents=size, models=models, foreign=foreign)
    print(fitted("\n".join([said, *judges_text(tables, systems)])))
    print(fitted(f"\nwritten: {out / PAGE}, {out / 'tables'}, {out / 'manifest.json'}"))
    for folder in (one for one in (out / "labels", out / "forms") if one.is_dir()):
        print(fitted(f"written: {folder}; the number in a file's name is that of its system above, [1] ..."))


def checked(values: dict[str, object]) -> "Evaluate":
    """The settings of an evaluation. Raises ParamsError with one line for each invalid option."""
    from pydantic import ValidationError

    from flows.repository.params import expectation
    from schemas.params.measures import Evaluate

    try:
        return Evaluate.model_validate(values)
    except ValidationError as error:
        lines = [
            f"--{str(problem['loc'][0]).replace('_', '-')} is {problem['input']!r}; "
            + expectation(problem).replace(_TOO_SHORT, "expected at least one")
            for problem in error.errors()
        ]
        raise ParamsError("\n".join(lines)) from error


def _pair(entry: str, option: str) -> tuple[str, str]:
    """The parts of an option NAME=VALUE. Raises ParamsError for another."""
    name, equals, value = entry.partition("=")
    if not (name and equals and value):
        expected = "FIELD=COLUMN, for example --map reference=note" if option == "--map" else "SYSTEM=FILE"
        raise ParamsError(f"{option} {entry}: expected {expected}")
    return name, value


def mapped(entries: Sequence[str]) -> dict[str, str]:
    """Column by field of options --map. Raises ParamsError for a field that is given twice."""
    found = dict[str, str]()
    for entry, (field, column) in ((entry, _pair(entry, "--map")) for entry in entries):
        if found.setdefault(field, column) != column:
            raise ParamsError(f"--map {entry}: {field} is given twice; expected one column")
    return found
