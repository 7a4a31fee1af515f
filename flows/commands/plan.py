"""Plans a study: half widths and power by number of documents, from the scores of an evaluation or a pilot."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schemas.errors import ParamsError, SourceError, did_you_mean
from tasks.transport.untrusted import SCALARS, of_form, parse_json, read_bytes

if TYPE_CHECKING:
    import pandas as pd


def main(
    evaluation: Annotated[
        Path,
        typer.Argument(help="A folder that `vignette evaluate` wrote, or a table: document, score; system, metric."),
    ],
    documents: Annotated[str, typer.Option(help="Numbers of documents to plan for.")] = "25,50,100,200,400",
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            help="Comma-separated, may be repeated, or measures such as overlap; default: all that systems are "
            "compared by."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Other studies for each seed.")] = 1,
) -> None:
    """Print what studies of more documents would find: half width of each mean, power of each difference."""
    sizes = _sizes(documents)
    from tasks.statistics.sign_flips import FEWEST
    from tasks.tracking.comparison import POWER
    from tasks.tracking.planning import STUDIES, half_widths, powers, require_documents

    with of_form(str(evaluation), SCALARS):
        scores = _chosen(_scores(evaluation), ",".join(metrics) if metrics else None, evaluation)
    try:
        require_documents(scores)
    except ValueError as error:
        raise SourceError(f"{evaluation}: {error}") from error
    count = scores["document"].nunique()
    print(f"{evaluation}: {count} documents; {STUDIES} studies of each size are simulated from them")
    print("\nhalf width of the 95% interval of the mean, by number of documents\n", flush=True)
    _print(half_widths(scores, sizes, seed=seed))
    if scores["system"].nunique() > 1:
        print(
            "\npower: share of studies that find the difference (p < 5%, adjusted for all of these rows);\n"
            f"{POWER:.0%} from: the smallest of these sizes with that power\n",
            flush=True,
        )
        found = powers(scores, sizes, seed=seed)
        if found.empty:
            raise SourceError(f"{evaluation}: no two systems have scores of one document; differences are of pairs")
        enough = found[[str(size) for size in sizes]] >= POWER
        _print(found.assign(**{f"{POWER:.0%} from": enough.idxmax(axis=1).where(enough.any(axis=1))}))
    none = f"-: fewer than {FEWEST} documents, or no such size"
    print(f"\nEach allows for what the pilot leaves open ({none}); a larger one says more.")


def _print(table: pd.DataFrame) -> None:
    import pandas as pd

    with pd.option_context("display.width", 160, "display.max_rows", None, "display.max_columns", None):
        print(table.to_string(index=False, float_format="{:.3f}".format, na_rep="-"))


def _sizes(given: str) -> list[int]:
    try:
        sizes = sorted({int(part) for part in given.split(",")})
    except ValueError as error:
        raise ParamsError(f"--documents {given}: expected whole numbers such as 50,100") from error
    if sizes[0] < 2 or sizes[-1] > 10_000:
        raise ParamsError(f"--documents {given}: expected numbers from 2 to 10000")
    return sizes


def evaluation_scores(evaluation: Path) -> pd.DataFrame:
    """DOCUMENT_SCORES of the folder of an evaluation; prints the remark of one that was a dry run."""
    from flows.runtime.folders import read_written
    from schemas.tables.evaluate import DOCUMENT_SCORES

    file = evaluation / "tables" / "scores.parquet"
    scores = read_written(file, DOCUMENT_SCORES, "the scores of an evaluation", "vignette evaluate")
    print_remark(evaluation)
    return scores


def print_remark(evaluation: Path) -> None:
    """Print the remark of an evaluation that was a dry run, by the manifest of its folder."""
    from tasks.reporting.evaluation_text import DRY_RUN

    try:
        made_from = parse_json(read_bytes(evaluation / "manifest.json").decode())
    except (SourceError, ValueError):
        return
    if isinstance(made_from, dict) and made_from.get("remark") == DRY_RUN:
        print(DRY_RUN)


def _scores(evaluation: Path) -> pd.DataFrame:
    """DOCUMENT_SCORES of an evaluation's folder, or of a table with a document and a score in each row."""
    if evaluation.is_dir():
        return evaluation_scores(evaluation)
    import pandas as pd

    from schemas.tables.columns import typed
    from schemas.tables.evaluate import DOCUMENT_SCORES
    from tasks.texts.files import read_rows
    from tasks.texts.numbers import with_points

    found, read = [], read_rows(evaluation)
    for note in read.notes:
        print(note, file=sys.stderr)
    column = pd.Series([row.values.get("score") for row in read.rows], dtype="object", name="score")
    for row, score in zip(read.rows, with_points(read.rows, column), strict=True):
        document = row.values.get("document", row.values.get("id"))
        if document is None or "score" not in row.values:
            raise SourceError(f"{row.place}: no document or score, but {', '.join(row.values)}; expected both")
        value = pd.to_numeric(score, errors="coerce") if score not in (None, "") else float("nan")
        if score not in (None, "") and not math.isfinite(value):
            raise SourceError(f"{row.place}: score {score!r}; expected a number, or nothing where unscored")
        given = {name: row.values.get(name) for name in _DEFAULTS}
        names = {name: str(_DEFAULTS[name] if value in (None, "") else value) for name, value in given.items()}
        found.append({"document": str(document), "record": 0, "value": float(value), **names})
    table = typed([one for one in found if one["value"] == one["value"]], DOCUMENT_SCORES)
    if twice := table[table.duplicated(list(DOCUMENT_SCORES.unique or []))].head(1).to_dict("records"):
        named = ", ".join(str(twice[0][name]) for name in ("document", "system", "metric"))
        raise SourceError(f"{evaluation}: {named} is listed twice; expected one score for each (give a mean of takes)")
    return table


_DEFAULTS = {"system": "all", "metric": "score", "item": "all", "condition": "pilot", "stage": "pilot"}
"""Columns that a pilot may leave out."""


def _chosen(scores: pd.DataFrame, metrics: str | None, evaluation: Path) -> pd.DataFrame:
    """Scores of whole documents, of the metrics or measures named; of a measure, and by default, those tested."""
    from tasks.measures.described import COMPARED
    from tasks.tracking.comparison import UNTESTED

    whole, held = scores[scores["item"] == "all"], sorted(scores["metric"].unique())
    wanted = list[str]()
    for name in map(str.strip, (metrics or "").split(",")):
        of_measure = scores[scores["stage"] == name] if name else scores
        own = [name] if name in held else [*of_measure["metric"].unique()] or [name] * bool(name)
        wanted += [one for one in own if one in COMPARED and one not in UNTESTED] or own
    if unknown := [name for name in wanted if name not in held]:
        raise ParamsError(
            f"--metrics {unknown[0]}: not in {evaluation}; found {', '.join(held)}{did_you_mean(unknown[0], held)}"
        )
    return whole[whole["metric"].isin(wanted)]
