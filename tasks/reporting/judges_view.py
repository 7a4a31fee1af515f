"""Several judges side by side: their figures of each system, how they agree, and the claims on which they split."""

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd

from tasks.reporting.display import paragraph, settings, words
from tasks.reporting.evaluation_text import SHARES, described, main_table, means, shown
from tasks.reporting.sections import Fold, Section, all_rows
from tasks.reporting.show import Wording, cell, listed, show

SPLITS = 200
"""Most split claims that are shown."""


def judges_section(tables: Mapping[str, pd.DataFrame], systems: Sequence[str]) -> list[Section]:
    """What the page shows of several judges; none for one, and where none had a case. ``tables``: by file stem."""
    if "judges" not in tables or tables["verdicts"].empty:
        return []
    verdicts, (figures, pairs) = tables["verdicts"], figures_and_pairs(tables["judges"])
    columns, judges = settings("columns.yaml"), list(dict.fromkeys(verdicts["judge"]))
    splits, by_judge = split_cases(verdicts, judges), {one: figures[figures["condition"] == one] for one in judges}
    names = list(dict.fromkeys(name for table in by_judge.values() for name in main_table(table, systems)[0]))
    rows = {
        f"{system}, {one}": [dict(zip(of, found, strict=True)).get(name) for name in names]
        for one, (of, all_found) in ((one, main_table(table, systems)) for one, table in by_judge.items())
        for system, found in all_found
    }
    agreed = show(pairs, Wording(columns["metrics"], columns["percent"]))
    folds = [all_rows(agreed, "agreement")] if agreed.tables else []
    if len(splits):
        folds.append(_split(splits, judges))
    said = paragraph("judges", judges=", ".join(judges), first=judges[0])
    return [Section("judges", "Judges side by side", [said], tables=[means(names, rows)], folds=folds)]


def _split(splits: pd.DataFrame, judges: Sequence[str]) -> Fold:
    """The first cases on which the judges split."""
    more = f"the first {SPLITS}; all are in tables/verdicts.csv" if len(splits) > SPLITS else ""
    labels = {name: name for name in ("document", "system", "metric", "text")}
    first = splits.head(SPLITS).to_dict("records")
    rows = [row | {"metric": words(row["metric"]), **dict(zip(judges, row["verdicts"], strict=True))} for row in first]
    cases = "1 case" if len(splits) == 1 else f"{len(splits)} cases"
    table = listed(rows, labels | {one: one for one in judges}, kind="wrap")
    return Fold(f"{cases} on which the judges split", more, tables=[table], filter="filter cases")


def figures_and_pairs(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the table ``judges`` by judge, and those on two judges."""
    of_two = table["metric"].isin(["kappa", "yes_difference", "p_value_adjusted", "p_value_scored"])
    return table[~of_two], table[of_two]


def split_cases(verdicts: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """VERDICTS on which judges differ: document, system, metric, text and verdicts, in order of ``judges``."""
    key = ["document", "system", "condition", "item", "metric", "unit", "text"]
    wide = verdicts.pivot(index=key, columns="judge", values="value").astype("boolean").reindex(columns=list(judges))
    differ = wide[wide.nunique(axis=1) > 1]
    names = {True: "yes", False: "no"}
    said = [[names.get(one, "failed") if pd.notna(one) else "failed" for one in row] for row in differ.to_numpy()]
    return differ.index.to_frame(index=False)[["document", "system", "metric", "text"]].assign(verdicts=said)


def judges_text(tables: Mapping[str, pd.DataFrame], systems: Sequence[str]) -> list[str]:
    """The judges' figures and the kappa of every two, a line each; none for an evaluation by one judge."""
    if "judges" not in tables or tables["verdicts"].empty:
        return []
    figures, pairs = figures_and_pairs(tables["judges"])
    chosen = figures[(figures["item"] == "all") & figures["metric"].isin(SHARES) & figures["system"].isin(systems)]
    lines = ["", "by judge (tables/judges.csv, and each verdict in tables/verdicts.csv):"]
    for (metric, system), rows in chosen.groupby(["metric", "system"], sort=True):
        found = ((row["condition"], cell(row, partial(shown, metric))) for row in rows.to_dict("records"))
        said = [
            f"{name} {one.value} (n {one.n}{f'/{(one.n or 0) + one.unscored}' if one.unscored else ''})"
            for name, one in found
        ]
        lines.append(f"  {described(str(metric))['label']}, {system}: {'; '.join(said)}")
    for row in pairs[pairs["metric"] == "kappa"].itertuples():
        value = "not defined, as both always say the same" if pd.isna(row.value) else f"{row.value:.2f}"
        lines.append(f"  kappa, {described(row.item)['label']}, {row.system} {row.condition}: {value} (n {row.n})")
    return lines
