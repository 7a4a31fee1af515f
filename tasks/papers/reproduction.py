"""Printed figures beside ours: each is answered by a row of a metric table, or by other figures that the paper prints.

The papers' files name the rows and the tolerances; a pipeline judges the figures that its own tables answer.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION, basis_kind
from tasks.measures.note_qa.metrics import mode_ranks
from tasks.papers.printed import Cell, Item, items, load_printed
from tasks.statistics.printed import deviations_error, means_error, others_errors, shares_error

PUBLISHED = "published"
"""The pipeline with outside data, and the folder before the names of its tables."""
KEY = ["source", "table", "row", "column"]
_KEYS = ("system", "condition", "item", "metric")
_ROUNDING = 1e-9  # a difference of exactly the tolerance passes in floating point
_FEWEST = 3
"""Fewest figures of which one may be left out as the mean of the others meets it."""

OTHERS, BASELINE = "others", "baseline"
"""Tolerances that are errors of a baseline that reads no claim."""

Tables = Mapping[str, pd.DataFrame]
Answer = Mapping[str, Any]


def judged(tables: Tables, pipeline: str = "") -> pd.DataFrame:
    """REPRODUCTION of the figures that METRICS of a pipeline answer, by their names in the papers' files.

    In the pipeline `PUBLISHED`, with the tables that lack figures. An item without a requirement that nothing answers
    is absent as well.
    """
    rows = [row for item in items().values() for row in compared(item, tables, pipeline)]
    if pipeline == PUBLISHED:
        rows += absent_lines(rows)
    return typed([{**row, "verdict": verdict_of(row)} for row in rows], REPRODUCTION).sort_values(
        KEY, ignore_index=True
    )


def compared(item: Item, tables: Tables, pipeline: str = "") -> list[dict[str, Any]]:
    """The rows of one item, without a verdict: of each cell by the first answer that a pipeline's tables have."""
    asked = [(cells, answer) for cells, answer in _asked(item) if pipeline_of(answer) == pipeline]
    found: list[dict[str, Any]] = []
    for cells, answer in asked:
        known = {(row["row"], row["column"]) for row in found}
        found += _answered([cell for cell in cells if (cell.row, cell.column) not in known], answer, tables)
    if asked and not found and not item.needs:
        return [item.absent_line("all", "no row answers it: the run is on another domain, or of another size")]
    return found


def _asked(item: Item) -> list[tuple[list[Cell], Answer]]:
    """The item's cells with what answers them: those of the printed table, and further ones."""
    further = [([item.cell(one["row"], one["column"], one["published"])], one["answer"]) for one in item.further]
    return [*((item.printed_cells(), answer) for answer in item.answers), *further]


def pipeline_of(answer: Answer) -> str:
    """The pipeline whose tables an answer needs, or that it names; empty for the main one."""
    return str(answer.get("pipeline", "")) or str(answer.get("table", "")).rpartition("/")[0]


def tables_needed(pipeline: str = "") -> set[str]:
    """Names of the metric tables that answer printed figures in a pipeline."""
    answers = [answer for item in items().values() for _, answer in _asked(item)]
    parts = [one for answer in answers for one in (answer, answer.get(BASELINE, {})) if "table" in one]
    return {one["table"] for one in parts if pipeline_of(one) == pipeline}


def verdict_of(row: Mapping[str, Any]) -> str:
    """``absent``, or whether the difference is within the tolerance; a missing value of another basis fails."""
    if row["basis"] == "absent":
        return "absent"
    return "pass" if abs(row["published"] - row["reproduced"]) <= row["tolerance"] + _ROUNDING else "fail"


def _answered(cells: Sequence[Cell], answer: Answer, tables: Tables) -> list[dict[str, Any]]:
    """The rows of the cells that an answer is about and has a value for; a tolerance may be that of a group of cells.

    A group has the same item and metric. Cells that the mean of the others' printed figures meets are left out where
    the tolerance is the error of such a baseline: to meet them says nothing of a judge.
    """
    wanted = answer.get("only", {})
    cells = [cell for cell in cells if all(_labels(cell)[name] in values for name, values in wanted.items())]
    if "take" in answer:
        return [cell.reproduced(_taken(answer, cell)) for cell in cells]
    rows, groups, found = Rows(answer, tables), defaultdict(list), []
    for cell in cells:
        groups[rows.place(cell)[2:]].append(cell)
    for group in groups.values():
        known = [(cell, value) for cell in group if (value := rows.value(cell))]
        errors = others_errors([cell.published for cell, _ in known])
        for (cell, value), near, error in zip(known, _tolerances(rows, group, known), errors, strict=True):
            if answer.get("within") in (OTHERS, BASELINE) and len(known) >= _FEWEST and error <= near:
                continue
            note = answer["note"].format(**value._asdict()) if "note" in answer else cell.note
            basis = f"stand-in: {rows.judge}" if rows.judge else answer.get("basis", cell.item.basis)
            found.append(cell.reproduced(value.value, tolerance=near, basis=basis, note=note))
    return found


def fits(texts: pd.Series, pattern: str) -> pd.Series:
    """Whether each text has the pattern."""
    return texts.map(lambda text: fnmatchcase(str(text), pattern)).astype(bool)


def _labels(cell: Cell) -> dict[str, str]:
    return {**cell.labels, "row": cell.row, "column": cell.column, "figure": cell.figure}


class Value(NamedTuple):
    """The value that answers a cell, with its interval and n."""

    condition: str
    metric: str
    value: float
    low: float
    high: float
    n: int


class Rows:
    """The METRICS rows that may answer cells. ``judge``: the model whose judgements stand in for the paper's judge."""

    def __init__(self, answer: Answer, tables: Tables) -> None:
        self.answer, self.tables, self.judge = answer, tables, ""
        frame = tables[answer["table"]]
        for name in ("n", "stage"):
            frame = frame[frame[name] == answer[name]] if name in answer else frame
        if "provenance" in answer:
            frame = frame[fits(frame["provenance"], answer["provenance"])]
        frame = self._judged(frame) if "judge" in answer else frame
        values = frame[["condition", "metric", "value", "low", "high", "n"]].itertuples(index=False, name=None)
        places = zip(*(frame[name] if name in answer else [""] * len(frame) for name in _KEYS), strict=True)
        self._rows = dict(zip(places, map(Value._make, values), strict=True))

    def _judged(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of the configured judge, or where the simulator's rules are configured, of the recorded one.

        Rows without a value are left out, as the judge has scored nothing there, and those of an inference model.
        """
        frame = frame[frame["value"].notna() & ~frame["condition"].str.contains("nli", case=False)]
        by = frame["provenance"].str.extract(r"^(?:.*judge: (?!.*simulator's rules)(.+)|((?!.* and ).+\(recorded\)))$")
        models = [*by[0].dropna().unique(), *by[1].dropna().unique()][:1]
        if not models or not re.match(self.answer["judge"], models[0]):
            return frame.head(0)
        self.judge = str(models[0])
        return frame if "condition" in self.answer else frame[by[0].fillna(by[1]) == self.judge]

    def place(self, cell: Cell, **other: Any) -> tuple[str, ...]:
        """System, condition, item and metric that answer a cell; ``other`` replaces templates of the answer."""
        names, templates = self.answer.get("names", {}), {**self.answer, **other}
        labels = {name: names.get(text, text) for name, text in _labels(cell).items()}
        return tuple(str(templates.get(name, "")).format(judge=self.judge, **labels) for name in _KEYS)

    def value(self, cell: Cell, **other: Any) -> Value | None:
        """The value at a cell's place, in percent if the paper prints it so; ``*`` fits any text."""
        place = self.place(cell, **other)
        found = self._rows.get(place)
        if found is None and any("*" in part for part in place):
            found = next((row for at, row in self._rows.items() if all(map(fnmatchcase, at, place))), None)
        if found is None or not fnmatchcase(found.metric, self.answer.get("percent", "")):
            return found
        return found._replace(**{name: 100 * getattr(found, name) for name in ("value", "low", "high")})


Known = Sequence[tuple[Cell, Value]]


def _tolerances(rows: Rows, group: Sequence[Cell], known: Known) -> list[float]:
    """The tolerance of each known cell by the answer's rule ``within``, see the head of ``simsum.yaml``."""
    rule, of = rows.answer.get("within"), rows.answer.get("of", 0)
    if rule == OTHERS:
        return [float(np.mean(others_errors([cell.published for cell in group])))] * len(known)
    if rule == BASELINE:
        answer = {name: text for name, text in rows.answer.items() if name != "judge"} | rows.answer[BASELINE]
        baseline = Rows(answer, rows.tables)
        near = [abs(value.value - cell.published) for cell in group if (value := baseline.value(cell))]
        return [float(np.mean(near)) if near else np.nan] * len(known)
    of_one: dict[str | None, Callable[[Cell, Value], float]] = {
        None: lambda cell, _: cell.tolerance,
        "interval": lambda _, value: (value.high - value.low) / 2,
        "deviations": lambda cell, value: _spreads_error(rows, cell, value, of),
        "shares": lambda cell, value: 100 * shares_error(cell.published / 100, (of, value.n)),
    }
    return [of_one[rule](cell, value) for cell, value in known]


def _spreads_error(rows: Rows, cell: Cell, value: Value, of: int) -> float:
    """The sampling error of a mean or a standard deviation, from the printed standard deviation and ours."""
    is_mean = cell.figure.endswith("_mean")
    own = rows.value(cell, metric="{figure}_std") if is_mean else value
    table = load_printed(str(cell.item.printed))
    printed = float(table.loc[cell.line, cell.figure.replace("_mean", "_std")])
    error = means_error if is_mean else deviations_error
    return error((printed, own.value if own else np.nan), (of, value.n))


_TAKES: dict[str, Callable[[pd.DataFrame, Any], Any]] = {
    "mean": lambda figures, _: figures.mean(axis=1),
    "std": lambda figures, _: figures.std(axis=1, ddof=1),
    "mean std": lambda figures, _: figures.std(axis=1, ddof=1).mean(),
    "mode rank": lambda figures, _: mode_ranks(figures)[0],
    "rank changes": lambda figures, printed: mode_ranks(figures, printed)[1],
}
"""What follows from columns of a printed table: of each line, or of all; `rank changes` from printed ranks."""


def _taken(answer: Answer, cell: Cell) -> float:
    """What other printed figures give: of the line with the same number, or with the text ``by``."""
    frame = load_printed(answer["printed"])
    frame = frame.set_index(answer["by"]) if "by" in answer else frame
    figures = frame[[name for name in frame.columns if any(fnmatchcase(name, one) for one in answer["columns"])]]
    found = _TAKES[answer["take"]](figures, frame[answer["from"]] if "from" in answer else None)
    at = cell.labels[answer["by"]] if "by" in answer else cell.line
    return float(found.loc[at] if isinstance(found, pd.Series) else found)


def absent_lines(present: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row of basis ``absent`` for each item with a requirement of which ``present`` lacks figures.

    Its row is named "others" where other figures of the table are reproduced, here or by the other pipeline.
    """
    covered = {tuple(row[name] for name in KEY) for row in present}
    tables, rows = {key[:2] for key in covered}, []
    for item in items().values():
        cells = [cell for cell in item.printed_cells() if not item.absent or cell.figure in item.absent]
        complete = cells and all((item.source, item.name, cell.row, cell.column) in covered for cell in cells)
        if item.needs and not complete:
            part = item.absent or (item.source, item.name) in tables
            rows.append(item.absent_line("others" if part else "all", f"needs {item.needs}"))
    return rows


def known_rows(runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The judged rows of several pipelines; a table that one of them reproduces is not absent in whole."""
    rows = pd.concat(runs, ignore_index=True).sort_values("basis", key=lambda basis: basis == "absent", kind="stable")
    whole = (rows["basis"] == "absent") & (rows["row"] == "all")
    return rows[~(whole & rows.duplicated(["source", "table"]))].reset_index(drop=True)


CLASSES = {
    "recomputed": "printed figures recomputed from released data",
    "closed form": "computed from the printed network",
    "arithmetic": "that follow from other printed figures",
    "sampled": "met on our own draws of records",
    "stand-in": "met by another model in place of the paper's",
}
"""What is counted, by kind of basis."""
ABSENT_TABLES = "tables that need data or models which are not at hand, whole or in part"


def class_counts(rows: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Figures within tolerance and figures compared, by kind of basis; absent tables are left out."""
    kinds = basis_kind(rows["basis"])
    counted = {kind: rows.loc[kinds == kind, "verdict"] == "pass" for kind in CLASSES}
    return {basis: (int(met.sum()), len(met)) for basis, met in counted.items() if len(met)}
