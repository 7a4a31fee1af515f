"""Compares lineages: measures of the same records in pairs, or the committed tables where bytes are missing."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from flows.lineage.lineage import (
    WORKSPACE,
    NamedLineage,
    fetch_outputs,
    find_lineage,
    is_recorded,
    key_figures,
    recorded_costs,
    recorded_lineages,
)
from flows.repository.workspace import write_atomically, write_text
from flows.runtime.folders import defused
from flows.runtime.tables import CSV_FLOAT, read_table
from schemas.errors import SourceError
from schemas.tables.metrics import METRICS
from tasks.progress import number_of
from tasks.reporting.comparison_page import Compared, render_comparison, terminal_text
from tasks.reporting.headlines import FIGURES, with_intervals
from tasks.tracking.comparison import COLUMNS, compare_all, compare_metrics
from tasks.tracking.differences import (
    changed_stages,
    cost_table,
    differing_inputs,
    figure_table,
    is_redraw,
    stages_behind,
)
from tasks.tracking.measures import (
    PREDICTION_COLUMNS,
    Ids,
    Key,
    Measure,
    prediction_measures,
    question_contents,
    score_measures,
    unscored_records,
)
from tasks.tracking.pairing import PairedMeasure, pair_or_split

FOLDER = Path("reports/comparisons")
UNSCORED = "unscored_"
QUESTIONS = "questions.parquet"
"""The table that holds the contents of the items of a score table in the same folder."""
_TEXT = ["system", "condition", "item"]
CONTENTS, SAMPLE = ("records", "evaluated"), "sample"
"""Stems of the tables that hold the content of each record, and the stage whose records the others use."""


def compare_lineages(
    first: NamedLineage, others: Sequence[NamedLineage], folder: Path, *, null: str = "records"
) -> list[list[Path]]:
    """Compare lineages with the first one, print each result and write it as CSV and HTML; returns the files of each.

    Values of the metric tables that git tracks are compared without a test where single records have no scores, or
    none that are in DVC's cache or on its remote.
    """
    redraws = find_redraws(first) if null == "redraws" else []
    missing = [_fetch_inputs([first, other, *redraws]) for other in others]
    complete = [other for other, lost in zip(others, missing, strict=True) if not lost]
    paired = [paired_measures(first, other, redraws) for other in complete]
    tested = compare_all([found for found, _ in paired], seed=0)
    compared = iter(zip(tested, (unlike for _, unlike in paired), strict=True))
    files = []
    for other, lost in zip(others, missing, strict=True):
        measures, unlike = (pd.DataFrame(columns=COLUMNS), []) if lost else next(compared)
        scored = {stage for path, (stage, _) in first.outputs().items() if _kind(path) is not None and not lost}
        values, further = _committed_metrics(first, other, scored, measures)
        files.append(show(first, other, measures, values, folder, _what_is_missing(lost), [*unlike, *further]))
    return files


def show(
    a: NamedLineage,
    b: NamedLineage,
    measures: pd.DataFrame,
    values: pd.DataFrame,
    folder: Path,
    missing: str = "",
    unlike: Sequence[str] = (),
) -> list[Path]:
    """Print a comparison and write it as CSV and HTML; returns the files."""
    inputs = differing_inputs(a.lineage, b.lineage, a.identities, b.identities)
    costs = cost_table(recorded_costs(a.lineage), recorded_costs(b.lineage))
    figures = figure_table(_figures(a), _figures(b))
    stages, behind = changed_stages(a.lineage, b.lineage), [*filter(None, map(_behind, (a, b)))]
    found = Compared(a.name, b.name, figures, inputs, stages, costs, measures, values, missing, unlike, behind)
    print(terminal_text(found))
    stem = f"{_slug(a.name)}__{_slug(b.name)}"
    table, page = folder / f"{stem}.csv", folder / f"{stem}.html"
    rows = pd.concat([one for one in (measures, values) if len(one)] or [measures])
    write_atomically(table, lambda to: defused(rows).to_csv(to, index=False, float_format=CSV_FLOAT))
    write_text(page, render_comparison(found))
    if is_recorded(b.lineage):
        recorded_lineages().attach(b.lineage.id, page, "comparisons")
    return [table, page]


def paired_measures(
    a: NamedLineage, b: NamedLineage, redraws: Sequence[NamedLineage] = ()
) -> tuple[list[PairedMeasure], list[str]]:
    """Pair the measures that both lineages have, from per-record tables that differ; and lines on the others."""
    sides = [a, b, *redraws]
    differing = sorted(path for path in _differing(sides) if path in b.outputs() and _kind(path) is not None)
    if not differing:
        return [], []
    # ids of the records and items that each stage attempted and failed to score
    unscored: list[dict[str, set[str]]] = [{} for _ in sides]
    for side, of_side in zip(sides, unscored, strict=True):
        for path, (stage, _) in side.outputs().items():
            if Path(path).name.startswith(UNSCORED) and (file := side.find_output(path)) is not None:
                of_side.setdefault(stage, set()).update(map(str, _read(file, ["record"])["record"]))
    found, of_a, of_b = list[PairedMeasure](), set[Key](), set[Key]()
    for path in differing:
        left, right, *drawn = _measures(path, sides, unscored)
        # the tables in both lineages with the content of the records: of its own stage, else of `SAMPLE`
        outputs, theirs = a.outputs(), b.outputs()
        tables = [other for other in outputs if Path(other).stem in CONTENTS and other in theirs]
        contents = [other for other in tables if outputs[other][0] == outputs[path][0]]
        # Documents of an evaluation are numbered by their names, which have nothing to do with sampled records.
        if not contents and "@" not in outputs[path][0]:
            contents = [other for other in tables if outputs[other][0] == SAMPLE]
        same = _same_records(a, b, contents)
        of_a, of_b = of_a | set(left), of_b | set(right)
        for key in sorted(set(left) & set(right)):
            redrawn = [measures[key] for measures in drawn if key in measures]
            found.append(pair_or_split(left[key], right[key], redrawn, same=same, verified=bool(contents)))
    return found, _unlike(a, b, of_a, of_b)


def _unlike(a: NamedLineage, b: NamedLineage, of_a: Set[Key], of_b: Set[Key]) -> list[str]:
    """A line by stage on the measures that only one lineage has, as of another condition, and that are not compared."""
    lines = []
    for stage in sorted({key[0] for key in of_a ^ of_b}):
        one, other = (sorted(key for key in keys if key[0] == stage) for keys in (of_a - of_b, of_b - of_a))
        such = " and ".join(", ".join(filter(None, keys[0][1:])) for keys in (one, other) if keys)
        lines.append(
            f"{stage}: not compared, as the other lineage has none such: {number_of(len(one), 'measure')} of {a.name}, "
            f"{len(other)} of {b.name}, such as {such}"
        )
    return lines


def find_redraws(lineage: NamedLineage) -> list[NamedLineage]:
    """Recorded lineages that are redraws of ``lineage``; raises SourceError when there is none."""
    recorded = [find_lineage(row["lineage"]) for row in recorded_lineages().overview()]
    found = [other for other in recorded if is_redraw(lineage.lineage, other.lineage)]
    if not found:
        raise SourceError(
            f"{lineage.name}: no recorded lineage is a redraw of it; make some with: "
            "dvc exp run -n redraw-1 -S '+roles.writer.redraw=1'"
        )
    return found


def _differing(sides: Sequence[NamedLineage]) -> set[str]:
    """Outputs of the first lineage that some other one has with another content, of stages that were rebuilt in all."""
    outputs = [side.outputs() for side in sides]
    behind = {name for side in sides for name in stages_behind(side.lineage)}
    return {
        path
        for path, (stage, _) in outputs[0].items()
        if stage not in behind and len({found[path][1] for found in outputs if path in found}) > 1
    }


def _read_by_comparison(sides: Sequence[NamedLineage]) -> list[tuple[NamedLineage, str]]:
    """Tables that a comparison reads: differing scores, predictions and records, questions, and unscored rows."""
    differing = _differing(sides)
    scores = {path for path in differing if _kind(path) is not None}
    if not scores:
        return []
    others = {f"{Path(path).parent}/{QUESTIONS}" for path in scores}
    others |= {path for path in differing if Path(path).stem in CONTENTS}
    return [
        (side, path)
        for side in sides
        for path in side.outputs()
        if path in scores | others or Path(path).name.startswith(UNSCORED)
    ]


def _fetch_inputs(sides: Sequence[NamedLineage]) -> list[tuple[NamedLineage, str]]:
    """Fetch the tables that a comparison reads; those that it needs and that are nowhere.

    It can do without the unscored rows of stages with the same scores and rows, as after a rebuild of one stage.
    """
    missing, differing = fetch_outputs(_read_by_comparison(sides)), _differing(sides)
    stages = {sides[0].outputs()[path][0] for path in differing if _kind(path) is not None}
    return [
        (side, path)
        for side, path in missing
        if path in differing or side.outputs()[path][0] in stages or not Path(path).name.startswith(UNSCORED)
    ]


def _kind(path: str) -> Literal["predictions", "scores"] | None:
    """What a table holds that is compared; None for other tables."""
    stem, ending = Path(path).stem, Path(path).suffix
    if ending != ".parquet":
        return None
    return "predictions" if "predictions" in stem else "scores" if "scores" in stem else None


def _measures(
    path: str, sides: Sequence[NamedLineage], unscored: Sequence[Mapping[str, set[str]]]
) -> list[dict[Key, Measure]]:
    """Measures of a table of predictions or scores in each lineage; none where it lacks the table.

    Records that some other stage failed to score count as failed where a lineage has their scores in this table:
    a stage that draws a sample of the records did not attempt the others.
    """
    stage, columns = sides[0].outputs()[path][0], PREDICTION_COLUMNS if _kind(path) == "predictions" else None
    tables = [_read(side.open_output(path), columns) if path in side.outputs() else None for side in sides]
    known = np.unique(np.concatenate([table["record"].to_numpy(np.int64) for table in tables if table is not None]))
    found: list[dict[Key, Measure]] = []
    for side, names, table in zip(sides, unscored, tables, strict=True):
        if table is None:
            found.append({})
            continue
        scores = (table,) if columns is None else ()
        own, anywhere = names.get(stage, set()), set[str]().union(*names.values())
        failed = np.union1d(unscored_records(own, *scores), np.intersect1d(unscored_records(anywhere, *scores), known))
        if columns is not None:
            found.append(prediction_measures(table, stage, failed=failed))
            continue
        questions = f"{Path(path).parent}/{QUESTIONS}"
        asked = question_contents(_read(side.open_output(questions))) if questions in side.outputs() else None
        found.append(score_measures(table, stage, contents=asked, failed=failed))
    return found


def _same_records(a: NamedLineage, b: NamedLineage, paths: Sequence[str]) -> Ids | None:
    """Ids of the records with the same content in these tables of both lineages; None where all have."""
    if not any(a.outputs()[path][1] != b.outputs()[path][1] for path in paths):
        return None
    one, other = (
        pd.concat([_read(side.open_output(path)) for path in paths]).set_index("record").astype("str")
        for side in (a, b)
    )
    if list(one.columns) != list(other.columns):
        return np.empty(0, dtype=np.int64)
    shared = one.index.intersection(other.index).sort_values()
    agree = (one.loc[shared].to_numpy() == other.loc[shared].to_numpy()).all(axis=1)
    return shared[agree].to_numpy(np.int64)


def _committed_metrics(
    a: NamedLineage, b: NamedLineage, scored: Set[str], tested: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Values that differ in the metric tables, which git tracks; and lines on what only one lineage has.

    Left out are stages that are ``scored`` by record, and texts with a measure that is ``tested``.
    """
    paths = sorted(path for path in _differing([a, b]) if path.endswith(".csv") and Path(path).parent.name == "tables")
    pairs = [[side.find_output(path) for side in (a, b)] for path in paths if path in b.outputs()]
    texts = {*tested[_TEXT].itertuples(index=False, name=None)}
    tables = []
    for pair in (pair for pair in pairs if all(file is not None and _has_metrics(file) for file in pair)):
        read = [read_table(file, METRICS) for file in pair if file is not None]
        keys = [zip(table["stage"], table[_TEXT].itertuples(index=False, name=None), strict=True) for table in read]
        kept = [[stage not in scored and text not in texts for stage, text in of] for of in keys]
        one, other = (table[mask] for table, mask in zip(read, kept, strict=True))
        tables.append((one, other))
    of_a, of_b = (
        {key for pair in tables for key in pair[side][list(Measure.KEY)].itertuples(index=False, name=None)}
        for side in (0, 1)
    )
    return compare_metrics(tables), _unlike(a, b, of_a, of_b)


def _figures(side: NamedLineage) -> dict[str, tuple[float, float, float]]:
    """Value, low and high of a lineage's key figures: from those of its metric tables that are at hand, as after a
    part of the stages ran, the others without an interval; none from stages that were not rebuilt.
    """
    wanted = {key[0] for of_group in FIGURES.values() for key in of_group.values()}
    behind, outs = stages_behind(side.lineage), side.outputs()
    paths = {Path(path).stem: path for path in outs if Path(path).parent.name == "tables"}
    files = {stem: side.find_output(paths[stem]) for stem in sorted(wanted & {*paths})}
    files = {stem: file for stem, file in files.items() if outs[paths[stem]][0] not in behind}
    tables = {stem: read_table(file, METRICS) for stem, file in files.items() if file and _has_metrics(file)}
    noted = {} if behind else {name: (value, np.nan, np.nan) for name, value in key_figures(side).items()}
    return noted | with_intervals(tables)


def _behind(side: NamedLineage) -> str:
    """A line on the stages that were not rebuilt."""
    if not (stages := stages_behind(side.lineage)):
        return ""
    return f"{side.name}: not compared, as not rebuilt after what they read changed: {', '.join(stages)}"


def _has_metrics(file: Path) -> bool:
    return list(pd.read_csv(file, nrows=0)) == list(METRICS.columns)


def _what_is_missing(lost: Sequence[tuple[NamedLineage, str]]) -> str:
    if not lost:
        return ""
    names = dict.fromkeys(side.name for side, _ in lost)
    paths = sorted({path for _, path in lost})
    more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
    elsewhere = " and ".join(name for name in names if name != WORKSPACE)
    remedies = ["rebuild the workspace"] if WORKSPACE in names else []
    remedies += [f"run `dvc push` in the clone that made {elsewhere}"] if elsewhere else []
    return (
        f"not tested: {', '.join(paths[:2])}{more} of {' and '.join(names)} are neither in DVC's cache nor to be "
        "had from a remote, so the values of the committed tables are shown; to compare records, "
        + " and ".join(remedies)
    )


def _read(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Read a table with text columns as categories, because few texts are distinct."""
    texts = None if columns is None else [name for name in columns if name not in ("record", "seed")]
    return pq.read_table(path, columns=columns, read_dictionary=texts).to_pandas()


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
