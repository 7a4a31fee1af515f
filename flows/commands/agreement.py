"""Correlates the metrics of a table, or of an evaluation, with people's scores of the same texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.runtime.folders import require_new_file, write_new_file
from schemas.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

_FEWEST = 4


def main(
    data: Annotated[Path, typer.Argument(help="Table with a row for each text: id, people's scores, metrics.")],
    human: Annotated[list[str], typer.Option(help="Column with people's scores; may be repeated.")],
    metric: Annotated[
        list[str] | None, typer.Option(help="Column with a metric (default: all other columns of numbers).")
    ] = None,
    id_: Annotated[str, typer.Option("--id", help="Column that names the document.")] = "id",
    system: Annotated[str, typer.Option(help="Column that names the system, where there are several.")] = "system",
    evaluation: Annotated[
        Path | None, typer.Option(help="Folder of `vignette evaluate`, whose scores are added by id and system.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="CSV to write with all rows.")] = None,
) -> None:
    """Print how each metric correlates with people's scores, with intervals over documents, and which is closer."""
    import pandas as pd

    from flows.runtime.tables import table_bytes
    from tasks.judges.human_scores import ALL, correlation_rows, difference_rows, rank_rows
    from tasks.statistics.metric_rows import COMPUTED, metric_table

    require_new_file(out, "vignette agreement")
    table = _table(data, id_, system, human)
    added = [] if evaluation is None else _add_scores(table, evaluation)
    if evaluation is not None:
        table = added[0]
    metrics = _metrics(table, data, human, metric, added[1] if added else [])
    about = {"system": "all systems"}
    strata = {ALL: table["document"].notna().to_numpy()}
    pairs = [(first, second) for place, first in enumerate(metrics) for second in metrics[place + 1 :]]
    rows = correlation_rows(table, metrics, human, strata, **about)
    rows += difference_rows(table, pairs, human, strata, **about)
    rows += rank_rows(table, metrics, human, **about) if table["system"].nunique() > 1 else []
    found = metric_table(rows, stage="agreement", provenance=COMPUTED)
    shown = found.assign(score=found["condition"].str.removesuffix(f", {ALL}"))
    columns = ["score", "item", "metric", "value", "low", "high", "n", "unscored"]
    with pd.option_context("display.width", 160, "display.max_rows", None):
        print(shown[columns].to_string(index=False, float_format="%.2f", na_rep="-"))
    if out is not None:
        write_new_file(out, table_bytes(found), "vignette agreement")
        print(f"written: {out}")


def _table(data: Path, id_: str, system: str, human: list[str]) -> pd.DataFrame:
    """The rows with ``document`` and ``system``, columns of numbers as floats."""
    import pandas as pd

    from tasks.texts.files import read_rows

    rows = pd.DataFrame([dict(row.values) for row in read_rows(data).rows])
    if missing := [name for name in (id_, *human) if name not in rows]:
        raise SourceError(f"{data}: no column {', '.join(missing)}; found {', '.join(map(str, rows.columns))}")
    named = rows.get(system, "all")
    table = rows.drop(columns=[name for name in (id_, system) if name in rows])
    table = table.apply(lambda column: pd.to_numeric(column.replace("", None), errors="coerce").where(column.notna()))
    for name in human:
        if bad := [str(value) for value, number in zip(rows[name], table[name], strict=True) if _lost(value, number)]:
            raise SourceError(f"{data}: column {name} holds {bad[0]!r}; expected numbers, or nothing where unscored")
    table = table.assign(document=rows[id_].astype(str), system=named)
    if repeated := table.duplicated(["document", "system"]).to_numpy().nonzero()[0].tolist():
        first = table.iloc[repeated[0]]
        raise SourceError(
            f"{data}: {first['document']} of system {first['system']} is listed twice; name --system or --id"
        )
    if table["document"].nunique() < _FEWEST:
        raise SourceError(f"{data}: {table['document'].nunique()} documents; at least {_FEWEST} are needed")
    return table


def _lost(value: object, number: float) -> bool:
    """Whether a cell that holds something is no number."""
    return value is not None and str(value).strip() != "" and number != number


def _add_scores(table: pd.DataFrame, evaluation: Path) -> tuple[pd.DataFrame, list[str]]:
    """The table with the scores of an evaluation's documents, and their names."""
    import pandas as pd

    file = evaluation / "tables" / "scores.parquet"
    if not file.is_file():
        raise SourceError(f"{file}: no such file; expected a folder that `vignette evaluate` wrote")
    scores = pd.read_parquet(file)
    wide = scores[scores["item"] == "all"].pivot_table(index=["document", "system"], columns="metric", values="value")
    if table["system"].eq("all").all() and wide.index.get_level_values("system").nunique() == 1:
        table = table.assign(system=wide.index.get_level_values("system")[0])
    joined = table.merge(wide.reset_index(), on=["document", "system"], how="left", suffixes=("", " (evaluated)"))
    if joined[list(wide.columns)].isna().all(axis=None):
        raise SourceError(
            f"{file}: no document and system in common with the table; name the columns with --id, --system"
        )
    return joined, [str(name) for name in wide.columns]


def _metrics(
    table: pd.DataFrame, data: Path, human: list[str], wanted: list[str] | None, added: list[str]
) -> list[str]:
    others = [str(name) for name in table if name not in (*human, "document", "system")]
    if missing := [name for name in wanted or [] if name not in others]:
        raise SourceError(f"{data}: no column {', '.join(missing)}; found {', '.join(others)}")
    found = wanted or [name for name in others if name in added or table[name].notna().any()]
    if not found:
        raise SourceError(f"{data}: no column of numbers beside {', '.join(human)}; name one, or give --evaluation")
    return found
