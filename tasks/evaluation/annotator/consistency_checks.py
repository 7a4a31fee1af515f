"""Runs the consistency check on cases with a known error and computes its precision and recall.

Recall of an error kind is the share of its notes that are flagged. Precision assumes as many notes with the error as
without, recall / (recall + false alarm rate), so it does not depend on the number of notes of each kind.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from schemas.tables.annotator import PLANTED_VERDICTS
from schemas.tables.columns import typed
from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row
from tasks.statistics.bootstrap import interval
from tasks.statistics.metric_rows import metric_row, metric_table

ConsistencyCall = Callable[[str, str, str], Call]
"""Builds the pipeline's consistency check from key, instructions and note."""


class Difference(Reply):
    """A detail that a compact note lost or changed."""

    kind: str
    detail: str


class CompactVerdict(Reply):
    """Whether a compact note says the same as its note, and each detail that is lost or changed."""

    differences: list[Difference]
    same: bool


async def check_cases(
    cases: pd.DataFrame, ask: Ask, consistency_call: ConsistencyCall
) -> tuple[pd.DataFrame, list[dict[str, str | None]]]:
    """Run the consistency check and the comparison with the compact version: (PLANTED_VERDICTS, UNSCORED rows).

    ``consistency_call`` is the main pipeline's, so the model gets the same prompt and reply schema.
    """
    rows = cases.sort_values("record").to_dict("records")
    verdicts: list[dict] = []
    unscored = []
    for row, answer in zip(rows, await ask([_call(row, consistency_call) for row in rows]), strict=True):
        flagged: bool | None = None
        explanation: str | None = None
        if isinstance(answer.value, CompactVerdict):
            flagged = not answer.value.same
            explanation = "; ".join(f"{one.kind}: {one.detail}" for one in answer.value.differences)
        elif answer.value is not None:
            reply = answer.value.model_dump()
            flagged, explanation = not reply["consistent"], reply["explanation"]
        else:
            unscored.append(unscored_row(int(row["record"]), str(row["check"]), answer.failure or "none", answer.raw))
        verdicts.append(
            {**{str(name): value for name, value in row.items()}, "flagged": flagged, "explanation": explanation}
        )
    return typed(verdicts, PLANTED_VERDICTS), unscored


def _call(row: dict, consistency_call: ConsistencyCall) -> Call:
    key = f"{row['record']}/planted/{row['check']}"
    if row["check"] == "compact":
        prompt = render("tasks.notes", "compare_compact", note=row["note"], compact=row["compact"])
        return Call(key, prompt, reply=CompactVerdict)
    return consistency_call(key, str(row["instructions"]), str(row["note"]))


def verdict_rows(verdicts: pd.DataFrame, *, stage: str, system: str, seed: int, provenance: str) -> pd.DataFrame:
    """Metric rows: precision and recall of each kind and overall, specificity on notes without error.

    ``verdicts`` has ``check``, ``kind`` ("none" where there is no error) and ``flagged``; intervals are bootstrap
    intervals over notes.
    """
    rows = []
    for check, part in verdicts.groupby("check", sort=True):
        scored = part[part["flagged"].notna()]
        clean = scored.loc[scored["kind"] == "none", "flagged"].to_numpy(dtype=float)
        kinds = sorted(set(part["kind"]) - {"none"})
        chosen: list[tuple[str, Sequence[str]]] = [*((kind, [kind]) for kind in kinds), ("all", kinds)]
        for item, names in chosen:
            planted = scored.loc[scored["kind"].isin(names), "flagged"].to_numpy(dtype=float)
            missing = int(part.loc[part["kind"].isin(names), "flagged"].isna().sum())
            for metric, (value, low, high) in _rates(planted, clean, seed).items():
                rows.append(
                    metric_row(metric, value, low, high, n=len(planted), condition=check, item=item, unscored=missing)
                )
        missing = int(part.loc[part["kind"] == "none", "flagged"].isna().sum())
        passed = _rate(lambda drawn, c=clean: 1 - c[drawn].mean() if len(c) else np.nan, len(clean), seed)
        rows.append(metric_row("specificity", *passed, n=len(clean), condition=check, item="none", unscored=missing))
    return metric_table(rows, stage=stage, system=system, seed=seed, provenance=provenance)


def _rates(planted: np.ndarray, clean: np.ndarray, seed: int) -> dict[str, tuple[float, float, float]]:
    """Recall, and precision at equal numbers of notes with and without the error."""
    n, m = len(planted), len(clean)

    def precision(drawn: np.ndarray) -> float:
        hits = planted[drawn[drawn < n]]
        alarms = clean[drawn[drawn >= n] - n]
        if not len(hits) or not len(alarms) or hits.mean() + alarms.mean() == 0:
            return np.nan
        return float(hits.mean() / (hits.mean() + alarms.mean()))

    return {
        "recall": _rate(lambda drawn: planted[drawn].mean() if n else np.nan, n, seed),
        "precision": _rate(precision, n + m, seed),
    }


def _rate(statistic, n: int, seed: int) -> tuple[float, float, float]:  # type: ignore[no-untyped-def]
    low, high = interval(statistic, n, seed=seed)
    return float(statistic(np.arange(n))), low, high
