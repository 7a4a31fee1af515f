"""An evaluation as text for the terminal: main metrics, failures, rates of the judge, differences beyond chance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from schemas.tables.evaluate import NO_OUTPUT
from tasks.measures.described import OF_OUTPUTS, shown_first
from tasks.measures.own import ABOVE_KNOWN, UNDEFINED
from tasks.progress import number_of
from tasks.reporting.display import number, paragraph, percent, probability, signed, words
from tasks.reporting.show import Cell, Column, Table, cell, of_one_metric, terminal
from tasks.statistics.misclassification import MIXED
from tasks.statistics.sign_flips import FEWEST, LEVEL
from tasks.tracking.measures import UNSCORED

METRICS: Mapping[str, Mapping[str, Any]] = shown_first()
"""Label, meaning and ``share`` of the metrics that are shown first, in order."""
SHARES = frozenset(name for name, entry in METRICS.items() if entry.get("share"))
OWN = "own"
"""Stage of the rows of metrics of the user's own."""
RULES = "simulator's rules"
"""What the label of the simulator says."""
DRY_RUN = "dry run: rules, no results"
"""What heads an evaluation or a card by the simulator."""
LOWER = "lower is better"
"""How the meaning of a metric of errors ends."""
FURTHER = "judge "
"""How the role of one of several judges begins, before its name; of these, the judge has all figures but their own."""
CLINICIAN = "clinician"
"""Condition of claims that are judged as a clinician reads."""
BOUNDS = "_bounds"
"""Ending of the metric with the range of a mean over all that failed judgements may be."""
_LACKED = "no reference, claim, fact or citation"
"""Why a metric has no value for a document though nothing failed."""
AGAIN = "run again if calls got no reply (a reply is kept, whether it can be used or not)"
"""What may help where judgements failed."""
NOT_TESTED = "not tested"
"""How the note of a comparison without a test begins."""
CORRECTED = "_corrected"
"""Ending of a metric that is corrected for the judge's errors."""
_RATES = ("sensitivity", "specificity")
_SHOWN, _NAMED, _FEW = 12, 5, 3


def main_table(metrics: pd.DataFrame, systems: Sequence[str]) -> tuple[list[str], list[tuple[str, list[dict | None]]]]:
    """Labels of the main metrics that were measured, and for each system their rows (None where it has none).

    A metric without a value, as no document could be scored, is shown with the number of documents that it lacks.
    ``partial``: how many of the documents that have a score lack some of their judgements.
    """
    chosen = metrics["metric"].isin(METRICS) | (metrics["stage"] == OWN)
    whole = metrics[(metrics["item"] == "all") & chosen]
    whole = whole[whole["value"].notna() | (whole["unscored"] > 0)]
    rows = {(row["system"], row["metric"]): {**row, "partial": 0} for row in whole.to_dict("records")}
    for bounds in metrics[(metrics["item"] == "all") & metrics["metric"].str.endswith(BOUNDS)].to_dict("records"):
        if row := rows.get((bounds["system"], bounds["metric"].removesuffix(BOUNDS))):
            row["partial"] = bounds["unscored"] - row["unscored"]
    for (system, metric), row in rows.items():
        if base := rows.get((system, metric.removesuffix(CORRECTED))) if metric.endswith(CORRECTED) else None:
            row["partial"] = base["partial"]
    own = metrics.loc[metrics["stage"] == OWN, "metric"].drop_duplicates()
    names = [name for name in [*METRICS, *own] if any((system, name) in rows for system in systems)]
    return names, [(system, [rows.get((system, name)) for name in names]) for system in systems]


def reading_line(metrics: pd.DataFrame) -> str:
    """How claims are read, "" where none are judged."""
    styles = metrics.loc[metrics["metric"].isin(["claim_recall", "claim_precision"]), "condition"].unique()
    if CLINICIAN in styles:
        return "claims are read as a clinician reads; the figures cannot be compared with DocLens's, which are strict"
    return f"claims are read strictly ({', '.join(styles)})" if len(styles) else ""


def described(metric: str, own: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """Label and meaning of a metric; one of the user's own is called by its name, and may have a meaning in ``own``."""
    return METRICS.get(metric, {"label": metric, "meaning": (own or {}).get(metric) or "a metric of your own"})


def ruled(models: Mapping[str, str]) -> list[str]:
    """The roles that the simulator plays, by ``models``, label by role; among several judges, the first one once."""
    found = [role for role, label in models.items() if RULES in label]
    return [role for role in found if "judge" not in found or not role.startswith(FURTHER)]


def shown(metric: str, value: float) -> str:
    """A value in the form of its metric: percent for shares."""
    return percent(value) if metric in (*SHARES, *_RATES) else number(value)


def summary_text(
    tables: Mapping[str, pd.DataFrame],
    systems: Sequence[str],
    *,
    documents: int,
    models: Mapping[str, str],
    foreign: Mapping[str, str] | None = None,
    width: int | None = None,
) -> str:
    """Means over documents with 95% intervals and n, failures, rates of the judge, differences beyond chance.

    ``tables``: metrics, comparisons, unscored and, if errors were planted, judge. ``models``: label of each role's
    model. ``foreign``: language of documents not in English.
    ``width``: columns of the terminal; systems that do not fit in it have tables of their own below.
    """
    names, rows = main_table(tables["metrics"], systems)
    rules = ruled(models)
    dry_run = "judge" in rules
    lines = [DRY_RUN] if dry_run else []
    lines.append(number_of(documents, "document"))
    if rules and foreign:
        lines.append(
            f"warning: the rules read English only; {foreign_line(foreign)}: leave them out, or choose a model"
        )
    lines += ["", *(f"[{number}] {system}" for number, system in enumerate(systems, 1)), ""]
    columns = {f"[{number}]": found for number, (_, found) in enumerate(rows, 1)}
    lines.append(terminal(replace(means(names, columns), columns=[Column(""), *map(Column, columns)]), width))
    lines += ["", "means over documents with 95% intervals; n a/b: scored on a of b documents"]
    lower = [one["label"].removeprefix("- ") for one in map(described, names) if one["meaning"].endswith(LOWER)]
    lines += [f"{LOWER}: {', '.join(lower)}"] if lower else []
    if any(row is not None and row["partial"] for _, found in rows for row in found):
        lines.append(
            "in part: documents of which some judgements failed, scored by the others; the range of the mean over all "
            f"that those may be is in tables/metrics.csv (..{BOUNDS})"
        )
    if any(name.endswith(CORRECTED) for name in names):
        lines.append(
            "corrected for the judge's errors on its card; a mean can be outside 0 to 100% by chance, but where "
            "its whole interval is, the judge errs otherwise on these texts; tables/metrics.csv has the ranges if "
            "its rates are off by 0.01 to 0.15"
        )
    mixed = tables["metrics"][tables["metrics"]["item"].str.endswith(MIXED)]
    lines += [
        f"{row.system}: {row.metric.removesuffix(CORRECTED).replace('_', ' ')}, corrected, is from {percent(row.low)} "
        f"to {percent(row.high)}, whichever kinds of the card's cases these texts are like"
        for row in mixed.itertuples()
    ]
    lines += [line for line in [reading_line(tables["metrics"]), _lacking_line(names, rows, documents)] if line]
    lines += _failures(tables["unscored"])
    if rules:
        lines += [
            "",
            f"{'; '.join(rules)}: the simulator's rules, no language model; confirm their figures with a model",
        ]
    return "\n".join([*lines, *_rates(tables), *_differences(tables, names, dry_run=dry_run)])


def _lacking(row: Mapping[str, Any], documents: int) -> int:
    """The documents for which a metric has no value though nothing failed."""
    return max(documents - int(row["n"]) - int(row["unscored"]), 0)


def _lacking_line(names: Sequence[str], rows: Sequence[tuple[str, list[dict | None]]], documents: int) -> str:
    """The metrics that have no value for some documents though nothing failed, "" where there are none."""
    found = [
        described(name)["label"].removeprefix("- ")
        for place, name in enumerate(names)
        if any((row := of[place]) is not None and _lacking(row, documents) for _, of in rows)
    ]
    return f"n below {documents} where other documents have {_LACKED}: {', '.join(found)}" if found else ""


def means(
    names: Sequence[str],
    columns: Mapping[str, Sequence[Mapping[str, Any] | None]],
    own: Mapping[str, str] | None = None,
) -> Table:
    """A line for each main metric, with its row of METRICS by the names of the columns (None where there is none)."""
    about = [described(name, own) for name in names]
    rows: list[list[Cell | None]] = []
    for place, (name, one) in enumerate(zip(names, about, strict=True)):
        found = (row[place] for row in columns.values())
        figures = of_one_metric([None if row is None else cell(row, partial(shown, name)) for row in found])
        rows.append([Cell(one["label"], small=(one["meaning"],) if one["meaning"] else ()), *figures])
    return Table([Column("metric"), *map(Column, columns)], rows)


def what_to_report(
    metrics: pd.DataFrame,
    systems: Sequence[str],
    *,
    documents: int,
    models: Mapping[str, str],
    cite: str,
    comparisons: pd.DataFrame | None = None,
) -> str:
    """What a paper would say of it: methods, judge and its card, means with interval and n, differences, what lacks."""
    names, rows = main_table(metrics, systems)
    # Further judges have none of these figures.
    made = [f"{role} {label}" for role, label in models.items() if not role.startswith(FURTHER)]
    cards = metrics.loc[metrics["provenance"].str.startswith("corrected by the card"), "provenance"].unique()
    if "judge" in models:
        made += [*cards] or ["no report card corrects the judge's verdicts"]
    by = f" ({'; '.join(made)})" if made else ""
    said = [f"We evaluated {'; '.join(systems)} on {number_of(documents, 'document')}{by}."] if systems else []
    cited = [one.cited for one in OF_OUTPUTS if one.cited and (metrics["stage"] == one.name).any()]
    said += [f"Methods: {'; '.join([*cited, *filter(None, [reading_line(metrics)])])}."] if cited else []
    pairs = pd.DataFrame() if comparisons is None or comparisons.empty else comparisons
    compared = pairs.groupby("metric") if len(systems) <= _FEW and len(pairs) else ()
    differences = {metric: of[of["item"] == "all"] for metric, of in compared}
    for place, name in enumerate(names):
        figures = [_mean(system, name, row, documents) for system, of in rows if (row := of[place]) is not None]
        figures += [_difference(name, row) for row in differences.get(name, pairs.iloc[:0]).to_dict("records")]
        label, meaning = described(name)["label"].removeprefix("- "), described(name)["meaning"]
        said.append(f"{label[:1].upper()}{label[1:]} ({meaning}): {'; '.join(figures)}.")
    if len(pairs) and (tested := int(pairs["p"].notna().sum())):
        said.append(f"{number_of(tested, 'test')} (tables/comparisons.csv): {paragraph('intervals')}.")
    return " ".join([*said, cite]).strip()


def _mean(system: str, metric: str, row: Mapping[str, Any], documents: int) -> str:
    """A system's mean with interval, n and what is without a score."""
    one = cell(row, partial(shown, metric))
    interval = f"95% CI {one.interval}; " if one.interval else ""
    lacks = f", {one.partial} scored in part" if one.partial else ""
    lacks += f", {one.unscored} without a score" if one.unscored else ""
    lacks += f", {_LACKED} in {count}" if (count := _lacking(row, documents)) else ""
    return f"{system} {one.value} ({interval}n = {one.n}{lacks})"


def _difference(metric: str, row: Mapping[str, Any]) -> str:
    """A paired difference with interval and p, of a share in points."""
    value, low, high = (signed(row[one], partial(shown, metric)).rstrip("%") for one in ("difference", "low", "high"))
    interval = f"95% CI {low} to {high}; " if row["low"] == row["low"] else ""
    known = probability(row["p"])
    p = f"adjusted p {known if known.startswith('<') else f'= {known}'}"
    said = f"; {row['note']}" if row["note"] and row["p"] == row["p"] else ""
    return (
        f"{row['system_b']} minus {row['system_a']} {value}{' points' if metric in SHARES else ''} "
        f"({interval}{p if row['p'] == row['p'] else NOT_TESTED}; n = {row['n']}{said})"
    )


def foreign_line(foreign: Mapping[str, str]) -> str:
    """Documents by language, as text."""
    by_language: dict[str, list[str]] = {}
    for name, language in foreign.items():
        by_language.setdefault(language, []).append(name)
    return "; ".join(f"{language}: {listed(names)}" for language, names in sorted(by_language.items()))


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _failures(unscored: pd.DataFrame) -> list[str]:
    """What could not be scored, by method, step, system and reason."""
    if unscored.empty:
        return ["nothing is unscored"]
    lines = ["not scored (tables/unscored.csv):"]
    keys = ["method", "step", "system", "reason"]
    named = unscored.fillna({"system": "all systems", "step": "", "reason": ""})
    groups = list(named.groupby(keys, sort=True)["document"])
    for (method, step, system, reason), names in groups[:_SHOWN]:
        what = "" if step in ("", method, "output") else f" {step},"
        named = f"{system}:" if reason == NO_OUTPUT else f"{method},{what} {system}:"
        lines.append(f"  {named} {listed(names.drop_duplicates().tolist())}: {reason}")
    rest = len(groups) - _SHOWN
    return [*lines, *([f"  ... and {rest} more lines"] if rest > 0 else [])]


def _rates(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Rates of the judge on planted errors, one line a step."""
    judge = tables.get("judge")
    if judge is None or not len(judge):
        return []
    references = tables["planted"]["document"].nunique()
    named = judge["metric"].isin([*_RATES, ABOVE_KNOWN])
    whole = judge[(judge["item"] == "all") & named & judge["value"].notna()]
    lines = ["", f"on cases made of {number_of(references, 'reference')} (upper limits: literal sentences are easier):"]
    for (system, step), rows in whole.groupby(["system", "condition"], sort=False):
        said = (
            f"{words(row['metric'])} {cell(row, partial(shown, row['metric'])).line()}"
            for row in rows.to_dict("records")
        )
        who = "" if judge["system"].nunique() == 1 else f"{system}, "
        lines.append(f"  {who}{step}: {', '.join(said)}")
    return lines


def number_of_comparisons(comparisons: pd.DataFrame) -> str:
    """How many measures are compared, and how many rates of missing scores."""
    failing = _of_failures(comparisons)
    return f"{(~failing).sum()}" + (f", and {failing.sum()} of how often a score is missing" if failing.any() else "")


def _of_failures(comparisons: pd.DataFrame) -> pd.Series:
    return comparisons["metric"].str.startswith(UNSCORED)


def _differences(tables: Mapping[str, pd.DataFrame], names: Sequence[str], *, dry_run: bool) -> list[str]:
    """Differences beyond chance on the documents that both systems have scores of, and what failed documents may do.

    ``names``: the metrics whose means are printed, under their labels.
    """
    comparisons = tables["comparisons"]
    if not len(comparisons):
        return []
    counted, failing = f"paired comparisons: {number_of_comparisons(comparisons)}", _of_failures(comparisons)
    by_rules = comparisons["note"] == DRY_RUN
    if dry_run and by_rules.all():
        return ["", f"{counted}, in tables/comparisons.csv; {DRY_RUN}, so that none is told from chance here"]
    if dry_run and by_rules.any():
        counted += f"; those by the judge are not tested ({DRY_RUN})"
        comparisons = comparisons[~by_rules]
        failing = _of_failures(comparisons)
    if (comparisons["n"] < FEWEST).all():
        return ["", f"{counted}; not tested, as this takes at least {FEWEST} documents"]
    reasons = comparisons.loc[~failing & comparisons["note"].str.startswith(NOT_TESTED), "note"].value_counts()
    counted += "".join(f"; {count} {reason}" for reason, count in reasons.items())
    beyond = comparisons[(comparisons["p"] < LEVEL) & (comparisons["item"] == "all")]
    tested = int((comparisons["p"].notna() & (comparisons["n"] >= FEWEST)).sum())
    sure = int(beyond["changed"].astype(bool).sum())
    more = f", and {len(beyond) - sure} more unless the missing scores say otherwise" if sure < len(beyond) else ""
    lines = ["", f"{counted}; tested: {tested}, beyond chance (5% family-wise) on whole texts: {sure}{more}"]
    for row in beyond.sort_values(["p", "system_a", "system_b", "metric"]).head(_SHOWN).itertuples():
        name = described(row.metric)["label"] if row.metric in names else f"{row.metric} (tables/metrics.csv)"
        lines.append(
            f"  {row.system_b} minus {row.system_a}, {name}: {row.difference:+.3f} "
            f"[{row.low:+.3f}, {row.high:+.3f}], p {probability(row.p)}, n {row.n}{f'; {row.note}' if row.note else ''}"
        )
    rest = len(beyond) - _SHOWN
    lines += [f"  ... and {rest} more in tables/comparisons.csv"] if rest > 0 else []
    lines += [f"  {paragraph('intervals')}"] if len(beyond) else []
    if beyond["changed"].astype(bool).all():
        return lines
    # How to get the scores that a comparison lacks: an output that is missing needs other data, no other judge.
    reasons = tables["unscored"]["reason"]
    missing = int((reasons == NO_OUTPUT).sum())
    if missing:
        lines.append(
            f"  outputs that the data lacks: {missing}; add them, or leave out the documents without them, and the "
            "difference is tested on all"
        )
    if not reasons.isin([NO_OUTPUT, UNDEFINED]).all():
        lines.append(f"  of judgements that failed: {AGAIN}, or choose another judge")
    return lines


def figures_and_pairs(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the table ``judges`` by judge, and those on two judges."""
    of_two = table["metric"].isin(["kappa", "yes_difference", "p_value_adjusted", "p_value_scored"])
    return table[~of_two], table[of_two]


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
        why = "both always say the same" if row.n else "no unit has a verdict of both"
        value = f"not defined, as {why}" if pd.isna(row.value) else f"{row.value:.2f}"
        lines.append(f"  kappa, {described(row.item)['label']}, {row.system} {row.condition}: {value} (n {row.n})")
    return lines
