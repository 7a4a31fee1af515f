"""Exact importance of a fact: how far the network's posterior over the diagnoses moves when the fact is left out.

MED-OMIT asks a judge what an omission would do to a simulated differential. Our notes come from a network that holds
the differential exactly, so the question has an answer: the total variation distance between P(diagnosis | all that the
facts state) and P(diagnosis | what the remaining facts state), the largest over the diagnoses. A symptom that another
fact states too does not move when one of the two is left out.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tasks.evaluation.doclens.metrics import metrics_table
from tasks.evaluation.med_omit.fact_score import CATEGORIES
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import posterior
from tasks.statistics.agreement import correlation, correlation_interval
from tasks.statistics.bootstrap import mean_interval


def symptoms_of_facts(facts: pd.DataFrame, spans: pd.DataFrame) -> dict[tuple[str, str], frozenset[str]]:
    """The symptoms that each fact states: those with a span in the note whose text stands in the fact.

    ``facts`` is FACTS of our notes, ``spans`` SPANS. Keys are (document, fact).
    """
    normal = spans[spans["version"] == "normal"]
    by_record: dict[str, list[tuple[str, str]]] = {}
    for record, symptom, text in zip(normal["record"], normal["symptom"], normal["text"], strict=True):
        by_record.setdefault(str(record), []).append((symptom, text))
    return {
        (row.document, row.fact): frozenset(
            symptom for symptom, text in by_record.get(row.document, []) if _squeeze(text) in _squeeze(row.text)
        )
        for row in facts.itertuples()
    }


def _squeeze(text: str) -> str:
    return " ".join(text.lower().split())


def add_posterior_shift(
    facts: pd.DataFrame,
    stated: Mapping[tuple[str, str], frozenset[str]],
    prompts: pd.DataFrame,
    network: NetworkDefinition,
    diagnoses: Sequence[str],
) -> pd.DataFrame:
    """FACTS with ``posterior_shift`` filled for facts that state a symptom."""
    values = {str(record): json.loads(text) for record, text in zip(prompts["record"], prompts["values"], strict=True)}
    queries = _queries(facts, stated, values)
    if not queries:
        return facts
    full = {name: _posteriors(network, [query[2] for query in queries], name) for name in diagnoses}
    without = {name: _posteriors(network, [query[3] for query in queries], name) for name in diagnoses}
    shifts = np.max([np.abs(full[name] - without[name]).sum(axis=1) / 2 for name in diagnoses], axis=0)
    by_fact = {(document, fact): float(shift) for (document, fact, _, _), shift in zip(queries, shifts, strict=True)}
    keys = zip(facts["document"], facts["fact"], strict=True)
    return facts.assign(posterior_shift=[by_fact.get(key, float("nan")) for key in keys])


Evidence = dict[str, str]


def _queries(
    facts: pd.DataFrame, stated: Mapping[tuple[str, str], frozenset[str]], values: Mapping[str, Evidence]
) -> list[tuple[str, str, Evidence, Evidence]]:
    found = []
    for document, group in facts.groupby("document", sort=True):
        known = values.get(str(document), {})
        listed = {fact: stated[str(document), fact] & known.keys() for fact in group["fact"]}
        every = frozenset().union(*listed.values())
        for fact, symptoms in listed.items():
            if symptoms:
                rest = frozenset().union(*(other for name, other in listed.items() if name != fact))
                found.append(
                    (str(document), str(fact), {s: known[s] for s in every}, {s: known[s] for s in rest & every})
                )
    return found


def _posteriors(network: NetworkDefinition, evidence: Sequence[Evidence], target: str) -> np.ndarray:
    """P(target | evidence) for each evidence set, shape (sets, values); sets with the same variables go together."""
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


def agreement_rows(facts: pd.DataFrame, *, seed: int, provenance: str, condition: str, stage: str) -> pd.DataFrame:
    """How well the judge's categories agree with the exact importance: Kendall's tau-b, and mean shift by category."""
    known = facts[facts["posterior_shift"].notna() & facts["category"].notna()]
    ranks = known["category"].map({name: rank for rank, name in enumerate(CATEGORIES)}).to_numpy(dtype=float)
    shifts = known["posterior_shift"].to_numpy(dtype=float)
    start = {"stage": stage, "system": "judge's importance", "condition": condition}
    end = {"unscored": int(facts["category"].isna().sum()), "seed": str(seed), "provenance": provenance}
    rows: list[dict[str, object]] = []
    for kind in ("kendall", "spearman"):
        low, high = correlation_interval(ranks, shifts, kind, seed=seed) if len(known) else (np.nan, np.nan)
        value = correlation(ranks, shifts, kind) if len(known) else np.nan
        interval = {"value": value, "low": low, "high": high, "n": len(known)}
        rows.append({**start, "item": "all", "metric": f"importance_{kind}", **interval, **end})
    for rank, name in enumerate(CATEGORIES):
        mean, low, high = mean_interval(shifts[ranks == rank], seed=seed)
        interval = {"value": mean, "low": low, "high": high, "n": int((ranks == rank).sum())}
        rows.append({**start, "item": name, "metric": "posterior_shift", **interval, **end})
    return metrics_table(rows)
