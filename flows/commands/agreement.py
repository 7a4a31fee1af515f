"""Compares metrics and verdicts with what people say of the same texts."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.plan import evaluation_scores, print_remark
from flows.runtime.folders import require_new_file, write_new_file
from schemas.errors import ParamsError, SourceError, did_you_mean
from tasks.progress import number_of
from tasks.transport.untrusted import SCALARS, of_form

if TYPE_CHECKING:
    import pandas as pd

    from tasks.texts.fields import Row

_FEWEST, _SEED = 4, 1
_SHOWN = ("pearson", "pearson_within_documents", "spearman", "kendall_of_systems")
"""Correlations that are printed."""
_MOST = 12
"""Most differences that are printed."""
_SHEETS = "claim_"
"""How the names of an evaluation's sheets begin."""


def main(
    data: Annotated[
        Path,
        typer.Argument(help="Table: id, people's scores, metrics; or a sheet of labelled verdicts."),
    ],
    human: Annotated[
        list[str] | None, typer.Option(help="Column with people's scores; may be repeated (none: a sheet of verdicts).")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Column with a metric (default: all other columns of numbers).")
    ] = None,
    id_: Annotated[str, typer.Option("--id", help="Column that names the document.")] = "id",
    system: Annotated[str, typer.Option(help="Column that names the system, where there are several.")] = "system",
    encoding: Annotated[str | None, typer.Option(help="Of a table that is not UTF-8: windows-1252.")] = None,
    evaluation: Annotated[
        Path | None, typer.Option(help="Folder of `vignette evaluate`, whose scores are added by id and system.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="CSV to write with all rows.")] = None,
) -> None:
    """Print how each metric correlates with people's scores, with intervals over documents, and which is closer.

    Of a sheet of `evaluate --labels`, or one with the columns item, judged, label and cluster, print the share that is
    true and the judge's errors.
    Where the same was scored or judged several times, a column "take" tells the times apart.
    """
    from tasks.judges.human_scores import (
        ALL,
        adjusted_rows,
        correlation_rows,
        difference_rows,
        rank_rows,
        within_rows,
    )
    from tasks.statistics.metric_rows import COMPUTED, metric_table

    require_new_file(out, "vignette agreement")
    if not human:
        if given := [name for name, value in (("--metric", metric), ("--evaluation", evaluation)) if value]:
            raise ParamsError(f"{given[0]}: needs --human, the column with people's scores")
        found = _labelled(data, encoding)
        print_remark(data.parent.parent)
        print(_said(data, found, encoding) + "\n")
        columns = ["condition", "item", "metric", "value", "low", "high", "n", "unscored"]
        figures = found[columns].assign(**(found[["value", "low", "high"]].round(2) + 0.0))  # a zero without sign
        print(figures.to_string(index=False, float_format="%.2f", na_rep="-"))
        if found.loc[found["metric"] == "corrected_share", "value"].isna().all():
            print(
                "\ncorrected_share: none, as all labels are alike, the judge is no better than chance by them, or its "
                "interval would be wider than 1"
            )
        _write(found, out)
        return
    with of_form(str(data), SCALARS):
        table = _table(data, id_, system, human, metric or [], encoding)
    table, added = (table, []) if evaluation is None else _add_scores(table, evaluation)
    others = [str(name) for name in table if name not in (*human, "document", "system")]
    _require_columns(data, metric or [], others)
    metrics = metric or [name for name in others if name in added or table[name].notna().any()]
    if not metrics:
        raise SourceError(f"{data}: no column of numbers beside {', '.join(human)}; name one, or give --evaluation")
    about: dict[str, Any] = {"system": "all systems"}
    strata = {ALL: table["document"].notna().to_numpy()}
    pairs = [(first, second) for place, first in enumerate(metrics) for second in metrics[place + 1 :]]
    rows = correlation_rows(table, metrics, human, strata, **about) + within_rows(table, metrics, human, **about)
    rows += difference_rows(table, pairs, human, strata, **about)
    rows += adjusted_rows(table, pairs, human, seed=_SEED, **about)
    rows += rank_rows(table, metrics, human, **about) if table["system"].nunique() > 1 else []
    found = metric_table(rows, stage="agreement", seed=_SEED, provenance=COMPUTED)
    _print_summary(found.assign(condition=found["condition"].str.removesuffix(f", {ALL}")))
    print(f"\nall {len(found)} rows, with Kendall's tau and each difference, are written with --out FILE")
    _write(found, out)


def _labelled(data: Path, encoding: str | None) -> pd.DataFrame:
    """METRICS of the judge of a labelled sheet. Raises SourceError for a file that `read_labels` refuses."""
    from flows.repository.params import load_params
    from flows.repository.workspace import params_file
    from tasks.judges.human_labels import file_rows

    try:
        return file_rows(data, seed=load_params(params_file()).seed, encoding=encoding)
    except (OSError, ValueError) as error:
        raise SourceError(f"{error} (--human names the columns of people's scores in another table)") from error


def _said(data: Path, found: pd.DataFrame, encoding: str | None) -> str:
    """What METRICS of a labelled sheet show, and which sheets of its folder are of other claims."""
    from tasks.judges.human_labels import sheet_of
    from tasks.reporting.display import percent
    from tasks.reporting.evaluation_text import described
    from tasks.reporting.show import cell

    rows = {row["metric"]: row for row in found.to_dict("records")}
    about, line = sheet_of(data, encoding), {name: cell(row, percent).line() for name, row in rows.items()}
    of = f", {described(about[0])['label']} of system {about[1]}" if about else ""
    others = [file.name for file in sorted(data.parent.glob(f"{_SHEETS}*.csv")) if about and file.name != data.name]
    powered, judged = rows["powered_share"]["value"], percent(rows["judged_share"]["value"])
    true = "labels of five documents or more are needed to say how many are true"
    if powered == powered:
        true = f"{line['powered_share']} are true by labels and verdicts together"
    return (
        f"{data.name}{of}: labelled: {rows['labelled_share']['n']} of {rows['judged_share']['n']} verdicts; {true}, "
        f"{judged} by the judge alone. It finds {line['sensitivity']} of what is labelled 1 and rejects "
        f"{line['specificity']} of what is labelled 0."
    ) + (f"\nof other claims and systems: label {', '.join(others)}" if others else "")


def _print_summary(found: pd.DataFrame) -> None:
    """Print what a paper would: correlations by metric and score, and the differences between metrics beyond chance."""
    from flows.repository.terminal import terminal_width
    from tasks.reporting.display import probability
    from tasks.reporting.show import Cell, Column, Table, terminal
    from tasks.statistics.sign_flips import FEWEST, LEVEL

    rows = {(row["condition"], row["item"], row["metric"]): row for row in found.to_dict("records")}
    of_systems = [row for key, row in rows.items() if key[2] == "kendall_of_systems"]
    names, shown = [name for name in _SHOWN if (found["metric"] == name).any()], []
    for score, item, metric in rows:
        if metric == _SHOWN[0]:
            figures = (rows.get((score, item, name)) for name in names)
            texts = [score, item, *("-" if row is None else _figure(row) for row in figures)]
            shown.append([*map(Cell, texts), Cell(str(rows[score, item, metric]["n"]))])
    heads = ["people's score", "metric", *(name.replace("_", " ") for name in names), "n"]
    print(terminal(Table([*map(Column, heads)], shown), terminal_width()))
    said = f"; of systems: of the means of {of_systems[0]['n']} systems" if of_systems else ""
    if any(math.isnan(row["value"]) for row in of_systems):
        said += ", none where one has no score or all are equal"
    print(f"\nn: texts with both; intervals: 95%, over documents{said}")
    known = {key: row["value"] for key, row in rows.items() if not math.isnan(row["value"])}
    pairs = [key for key in known if key[2] == "pearson_difference"]
    p = {key[:2]: value for key, value in known.items() if key[2] == "p_value_adjusted"}
    beyond = sorted((key for key in p if p[key] < LEVEL), key=p.__getitem__)
    which = f"{FEWEST} documents or more, no scores all equal but in one"
    said = f"tested ({which}): {len(p)}; beyond chance (5% family-wise): {len(beyond)}"
    print(f"differences between two metrics in the size of r: {len(pairs)}; {said}")
    for key in beyond[:_MOST]:
        print(f"  {key[0]}: {key[1]}: {_figure(rows[*key, 'pearson_difference'])}, p {probability(p[key])}")
    if len(beyond) > _MOST:
        print(f"  ... and {len(beyond) - _MOST} more")


def _figure(row: dict[Any, Any]) -> str:
    value, low, high = (f"{round(row[name], 2) + 0.0:.2f}" for name in ("value", "low", "high"))  # a zero without sign
    return "-" if value == "nan" else value if low == "nan" else f"{value} [{low}, {high}]"


def _write(found: pd.DataFrame, out: Path | None) -> None:
    """Write METRICS to ``out``, if named."""
    from flows.runtime.folders import defused
    from flows.runtime.tables import table_bytes

    if out is not None:
        write_new_file(out, table_bytes(defused(found)), "vignette agreement")
        print(f"written: {out}")


def _table(
    data: Path, id_: str, system: str, human: list[str], metrics: Sequence[str] = (), encoding: str | None = None
) -> pd.DataFrame:
    """The rows with ``document`` and ``system``, columns of numbers as floats.

    Raises SourceError for a word in a column of scores: of people's, of ``metrics``, or, without any, of some numbers.
    """
    import pandas as pd

    from tasks.judges.human_labels import TAKE
    from tasks.texts.files import read_rows
    from tasks.texts.numbers import with_points

    found = read_rows(data, encoding=encoding)
    read = found.rows
    for note in found.notes:
        print(note, file=sys.stderr)
    rows = pd.DataFrame([dict(row.values) for row in read])
    _require_columns(data, (id_, *human), rows.columns)
    documents, systems = _names(read, id_), _names(read, system) if system in rows else "all"
    table = rows.drop(columns=[name for name in (id_, system, TAKE) if name in rows])
    for name in table:
        table[name] = with_points(read, table[name])
    table = table.apply(lambda column: pd.to_numeric(column.replace("", None), errors="coerce").where(column.notna()))
    scores = {*human, *(metrics or table.columns[table.notna().any()])}
    for name in table:
        for row, value, number in zip(read, rows[name], table[name], strict=True):
            is_word = number != number and value is not None and value == value and str(value).strip() != ""
            if abs(number) == math.inf or (is_word and name in scores):
                more = "" if name in (*human, *metrics) else "; if it is no metric, name the metrics with --metric"
                raise SourceError(
                    f"{row.place}: column {name} holds {value!r}; expected numbers, or nothing where unscored{more}"
                )
    table = table.assign(document=documents, system=systems)
    keys = [table["document"], table["system"], *([rows[TAKE]] if TAKE in rows else [])]
    if repeated := pd.DataFrame(zip(*keys, strict=True)).duplicated().to_numpy().nonzero()[0].tolist():
        first = table.iloc[repeated[0]]
        raise SourceError(
            f"{data}: {first['document']} of system {first['system']} is listed twice; name --system or --id, or "
            f"number the times in a column {TAKE}"
        )
    if (count := table["document"].nunique()) < _FEWEST:
        raise SourceError(f"{data}: {number_of(count, 'document')}; at least {_FEWEST} are needed")
    return table


def _names(read: Sequence[Row], column: str) -> list[str]:
    """The ids or systems of rows, as an evaluation has them. Raises SourceError for an empty cell."""
    from tasks.texts.fields import id_text, is_absent

    found = list[str]()
    for row in read:
        name = id_text(row.values.get(column))
        if not isinstance(name, str) or not name:
            held = "is empty (as None and NA are, unless in quotes)" if is_absent(name) else f"holds {name!r}"
            raise SourceError(f"{row.place}: column {column} {held}; expected a text or a whole number")
        found.append(name)
    return found


def _require_columns(data: Path, wanted: Sequence[str], known: Collection[str]) -> None:
    if missing := [name for name in wanted if name not in known]:
        found = (", ".join(map(str, known)) or "no row") + did_you_mean(missing[0], known)
        named = "; name that of the document with --id" if "id" in missing else ""
        raise SourceError(f"{data}: no column {', '.join(missing)}; found {found}{named}")


def _add_scores(table: pd.DataFrame, evaluation: Path) -> tuple[pd.DataFrame, list[str]]:
    """The table with the scores of an evaluation's documents, and their names."""
    scores = evaluation_scores(evaluation)
    wide = scores[scores["item"] == "all"].pivot_table(index=["document", "system"], columns="metric", values="value")
    if table["system"].eq("all").all() and wide.index.get_level_values("system").nunique() == 1:
        table = table.assign(system=wide.index.get_level_values("system")[0])
    joined = table.merge(wide.reset_index(), on=["document", "system"], how="left", suffixes=("", " (evaluated)"))
    if joined[list(wide.columns)].isna().all(axis=None):
        raise SourceError(
            f"{evaluation}: no document and system in common with the table; name the columns with --id, --system"
        )
    lacking = joined[joined[list(wide.columns)].isna().all(axis=1)].drop_duplicates(["document", "system"])
    if len(lacking):
        of = " of " + lacking["system"] if table["system"].nunique() > 1 else ""
        named = ", ".join((lacking["document"] + of)[:5]) + (", ..." if len(lacking) > 5 else "")
        print(f"{evaluation}: no score of {number_of(len(lacking), 'output')} of the table: {named}", file=sys.stderr)
    return joined, [str(name) for name in wide.columns]
