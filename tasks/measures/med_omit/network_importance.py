"""Exact importance of a fact: the shift of the network's posterior over the diagnoses when the fact is left out.

MED-OMIT has a judge estimate the effect of an omission on a simulated differential. Our notes come from a network in
which that effect can be computed: the total variation distance between P(diagnosis | all facts) and P(diagnosis | all
facts but this one), maximised over the diagnoses. It is 0 for a symptom that another fact states as well.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tasks.measures.med_omit.fact_score import CATEGORIES
from tasks.measures.med_omit.judging import GRADED
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import posterior
from tasks.statistics.agreement import correlation_interval
from tasks.statistics.metric_rows import mean_row, metric_row, metric_table


def symptoms_of_facts(facts: pd.DataFrame, spans: pd.DataFrame) -> dict[tuple[str, str], frozenset[str]]:
    """The symptoms that each (document, fact) states: those with a span of the note whose text occurs in the fact."""
    normal = spans[spans["version"] == "normal"]
    by_record: dict[str, list[tuple[str, str]]] = {}
    for record, symptom, text in zip(normal["record"], normal["symptom"], normal["text"], strict=True):
        by_record.setdefault(str(record), []).append((symptom, _normalised(text)))
    stated: dict[tuple[str, str], frozenset[str]] = {}
    for row in facts.itertuples():
        fact, of_note = _normalised(row.text), by_record.get(row.document, [])
        stated[row.document, row.unit] = frozenset(name for name, text in of_note if text in fact)
    return stated


def _normalised(text: str) -> str:
    return " ".join(text.lower().split())


def add_posterior_shift(
    verdicts: pd.DataFrame,
    stated: Mapping[tuple[str, str], frozenset[str]],
    prompts: pd.DataFrame,
    network: NetworkDefinition,
    diagnoses: Sequence[str],
) -> pd.DataFrame:
    """VERDICTS with the shift (0-1) as truth of the grades of facts that state a symptom."""
    facts = verdicts[verdicts["metric"] == GRADED]
    values = {str(record): json.loads(text) for record, text in zip(prompts["record"], prompts["values"], strict=True)}
    pairs = _evidence(facts, stated, values)
    if not pairs:
        return verdicts
    every, without = ([pair[at] for pair in pairs.values()] for at in (0, 1))
    apart = [np.abs(_posteriors(network, every, d) - _posteriors(network, without, d)).sum(axis=1) for d in diagnoses]
    truth = pd.Series(np.max(apart, axis=0) / 2, list(pairs))
    return verdicts.assign(truth=truth.reindex(verdicts.index))


Evidence = dict[str, str]


def _evidence(
    facts: pd.DataFrame, stated: Mapping[tuple[str, str], frozenset[str]], values: Mapping[str, Evidence]
) -> dict[Any, tuple[Evidence, Evidence]]:
    """Evidence of all facts of a document, and of all but one, by the row of that one, if it states a symptom."""
    found = {}
    for document, group in facts.groupby("document", sort=True):
        known = values.get(str(document), {})
        listed = {at: stated[str(document), fact] & known.keys() for at, fact in group["unit"].items()}
        for at in (at for at, symptoms in listed.items() if symptoms):
            rest = frozenset[str]().union(*(other for name, other in listed.items() if name != at))
            found[at] = {s: known[s] for s in rest | listed[at]}, {s: known[s] for s in rest}
    return found


def _posteriors(network: NetworkDefinition, evidence: Sequence[Evidence], target: str) -> np.ndarray:
    """P(target | evidence), shape (evidence sets, values of target); sets with the same variables share one query."""
    result: list[np.ndarray] = [np.empty(0)] * len(evidence)
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, known in enumerate(evidence):
        groups.setdefault(tuple(sorted(known)), []).append(at)
    for names, rows in groups.items():
        frame = pd.DataFrame([[evidence[at][name] for name in names] for at in rows], columns=list(names))
        found = np.asarray(posterior(network, frame if names else pd.DataFrame(index=range(1)), target))
        for place, at in enumerate(rows):
            result[at] = found[place if names else 0]
    return np.array(result, dtype=float)


def agreement_rows(verdicts: pd.DataFrame, **about: Any) -> pd.DataFrame:
    """Agreement of the judge's categories with the exact importance: rank correlations, and mean shift by category."""
    facts = verdicts[verdicts["metric"] == GRADED]
    known = facts[facts["truth"].notna() & facts["verdict"].notna()]
    ranks = known["verdict"].map({name: rank for rank, name in enumerate(CATEGORIES)}).to_numpy(dtype=float)
    shifts = known["truth"].to_numpy(dtype=float)
    rows = []
    for kind in ("kendall", "spearman"):
        found = correlation_interval(ranks, shifts, kind, clusters=known["document"])
        rows.append(metric_row(f"importance_{kind}", *found, n=len(known), item="all"))
    rows += [
        mean_row("posterior_shift", shifts[ranks == rank], clusters=known["document"][ranks == rank], item=name)
        for rank, name in enumerate(CATEGORIES)
    ]
    return metric_table(rows, system="judge's importance", unscored=int(facts["verdict"].isna().sum()), **about)
