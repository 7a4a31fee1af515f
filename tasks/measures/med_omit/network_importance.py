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

MEANINGS = {
    "posterior_shift": "largest change of a diagnosis' probability (total variation) when the fact is left out, mean",
    "importance_kendall": "Kendall's tau-b between the judge's importance and the network's",
    "importance_spearman": "Spearman's rho between the judge's importance and the network's",
}


def symptoms_of_facts(facts: pd.DataFrame, spans: pd.DataFrame) -> dict[tuple[str, str], frozenset[str]]:
    """Map each (document, fact) to the symptoms it states: those with a span of the note whose text occurs in the fact.

    ``facts`` are VERDICTS on the facts of our notes, ``spans`` the SPANS table.
    """
    normal = spans[spans["version"] == "normal"]
    by_record: dict[str, list[tuple[str, str]]] = {}
    for record, symptom, text in zip(normal["record"], normal["symptom"], normal["text"], strict=True):
        by_record.setdefault(str(record), []).append((symptom, text))
    stated: dict[tuple[str, str], frozenset[str]] = {}
    for row in facts.itertuples():
        fact = _normalised(row.text)
        spans_of_note = by_record.get(row.document, [])
        stated[row.document, row.unit] = frozenset(name for name, text in spans_of_note if _normalised(text) in fact)
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
    queries = _queries(facts, stated, values)
    if not queries:
        return verdicts
    full = {name: _posteriors(network, [query[2] for query in queries], name) for name in diagnoses}
    without = {name: _posteriors(network, [query[3] for query in queries], name) for name in diagnoses}
    shifts = np.max([np.abs(full[name] - without[name]).sum(axis=1) / 2 for name in diagnoses], axis=0)
    by_fact = {(document, fact): float(shift) for (document, fact, _, _), shift in zip(queries, shifts, strict=True)}
    keys = zip(facts["document"], facts["unit"], strict=True)
    truth = pd.Series([by_fact.get(key, float("nan")) for key in keys], facts.index, dtype=float)
    return verdicts.assign(truth=truth.reindex(verdicts.index))


Evidence = dict[str, str]


def _queries(
    facts: pd.DataFrame, stated: Mapping[tuple[str, str], frozenset[str]], values: Mapping[str, Evidence]
) -> list[tuple[str, str, Evidence, Evidence]]:
    """(document, fact, evidence of all facts, evidence of all other facts) of each fact that states a symptom."""
    found = []
    for document, group in facts.groupby("document", sort=True):
        known = values.get(str(document), {})
        listed = {fact: stated[str(document), fact] & known.keys() for fact in group["unit"]}
        every = frozenset().union(*listed.values())
        for fact, symptoms in listed.items():
            if not symptoms:
                continue
            rest = frozenset().union(*(other for name, other in listed.items() if name != fact))
            with_fact, without = {s: known[s] for s in every}, {s: known[s] for s in rest}
            found.append((str(document), str(fact), with_fact, without))
    return found


def _posteriors(network: NetworkDefinition, evidence: Sequence[Evidence], target: str) -> np.ndarray:
    """P(target | evidence), shape (evidence sets, values of target); sets with the same variables share one query."""
    result: list[np.ndarray | None] = [None] * len(evidence)
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, known in enumerate(evidence):
        groups.setdefault(tuple(sorted(known)), []).append(at)
    for names, rows in groups.items():
        frame = pd.DataFrame([[evidence[at][name] for name in names] for at in rows], columns=list(names))
        found = posterior(network, frame, target) if names else _prior(network, target, len(rows))
        for at, probabilities in zip(rows, found, strict=True):
            result[at] = probabilities
    return np.array(result, dtype=float)


def _prior(network: NetworkDefinition, target: str, rows: int) -> np.ndarray:
    return np.tile(np.asarray(posterior(network, pd.DataFrame(index=range(1)), target)), (rows, 1))


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
