"""The consistency check against planted errors: the writer's known truth, the check's precision and recall.

The writer that plants an error in most notes gives the notes with errors; its ordinary self the notes without, as many.
Recall of a kind is the share of its notes that were flagged. Its precision is that among as many notes with the error
as without: hits / (hits + false alarms scaled to the number of notes with the error), so that it does not hang on how
many notes of each kind were planted. A compact version's planted loss counts where the truth shows it: a symptom that
the note has a span of and the compact version has none.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import Truth, compact_truth, truth
from tasks.statistics.bootstrap import interval
from tasks.statistics.metric_rows import metric_row, metric_table

WRITER = "vignette-writer"
CALIBRATION_WRITER = "vignette-writer-calibration"
NOTE_KINDS = (
    *("symptom_dropped", "contradicted", "descriptor_lost", "forbidden_mentioned"),
    *("extra_condition", "diagnosis_named", "age_or_sex_named"),
)
COMPACT_KINDS = ("detail_lost", "detail_changed")
_STRIDE = 1_000_003  # seeds of one round lie apart from those of another


class ConsistencyVerdict(Reply):
    """Whether a note agrees with the instructions it was written from, and where it does not."""

    explanation: str = ""
    consistent: bool


class Difference(Reply):
    """A detail that a compact note lost or changed."""

    kind: str
    detail: str


class CompactVerdict(Reply):
    """Whether a compact note says the same as its note, and each detail that is lost or changed."""

    differences: list[Difference]
    same: bool


def plant(prompts: pd.DataFrame, system: str, *, each: int, rounds: int, seed: int) -> pd.DataFrame:
    """The cases: ``each`` notes of every kind of error and as many without in all, for both checks.

    ``prompts`` is the prompts table, ``system`` the writer's system message. Kinds that the prompts allow too seldom
    to be planted ``each`` times within ``rounds`` stay fewer. Columns of `schemas.tables.annotator.PLANTED_CASES`.
    """
    wanted = Counter(dict.fromkeys((*NOTE_KINDS, *COMPACT_KINDS), each))
    clean = {"consistency": each * len(NOTE_KINDS), "compact": each * len(COMPACT_KINDS)}
    listed = prompts.sort_values("record")[["record", "single_prompt"]].to_dict("records")
    cases: list[dict[str, object]] = []
    for round_number in range(rounds):
        for row in listed:
            number = (seed * rounds + round_number) * _STRIDE + int(row["record"])
            for check, kind, note, compact in _written(str(row["single_prompt"]), system, number):
                left = clean if kind == "none" else wanted
                key = check if kind == "none" else kind
                if left[key] > 0:
                    left[key] -= 1
                    cases.append(_case(len(cases), check, kind, str(row["single_prompt"]), note, compact))
        if not any(wanted.values()) and not any(clean.values()):
            break
    frame = pd.DataFrame(cases, columns=["record", "check", "kind", "instructions", "note", "compact"])
    return frame.astype({"record": "int64", "compact": "object"})


def _case(number: int, check: str, kind: str, prompt: str, note: str, compact: str | None) -> dict[str, object]:
    return {"record": number, "check": check, "kind": kind, "instructions": prompt, "note": note, "compact": compact}


def _written(prompt: str, system: str, number: int) -> Iterator[tuple[str, str, str, str | None]]:
    """(check, kind, note, compact version) of what both writers write for a prompt."""
    messages = (("system", system), ("user", prompt))
    planted = truth(ChatRequest(CALIBRATION_WRITER, messages, seed=number))[0]
    if planted.error is not None:
        yield "consistency", planted.error.kind, planted.text, None
    plain = truth(ChatRequest(WRITER, messages, seed=number))[0]
    if plain.error is not None:
        return
    yield "consistency", "none", plain.text, None
    asked = (*messages, ("assistant", plain.text), ("user", render("tasks.notes", "compact")[-1].content))
    for model in (CALIBRATION_WRITER, WRITER):
        compact = compact_truth(ChatRequest(model, asked, seed=number), plain)
        kind = _compact_kind(plain, compact)
        if kind is not None and (kind == "none") == (model == WRITER):
            yield "compact", kind, plain.text, compact.text


def _compact_kind(note: Truth, compact: Truth) -> str | None:
    """The planted error of a compact version; None where truth and plan disagree on whether a symptom was lost."""
    lost = {span.symptom for span in note.spans} - {span.symptom for span in compact.spans}
    kind = compact.error.kind if compact.error is not None else "none"
    if kind == "detail_lost":
        return kind if compact.error is not None and compact.error.item in lost else None
    return None if lost else kind


async def check_cases(cases: pd.DataFrame, ask: Ask) -> tuple[pd.DataFrame, list[dict[str, str | None]]]:
    """(verdicts, unscored rows): what the consistency check and the comparison with the compact version say."""
    rows = cases.sort_values("record").to_dict("records")
    verdicts, unscored = [], []
    for row, answer in zip(rows, await ask([_call(row) for row in rows]), strict=True):
        flagged: bool | None = None
        said: str | None = None
        if isinstance(answer.value, ConsistencyVerdict):
            flagged, said = not answer.value.consistent, answer.value.explanation
        elif isinstance(answer.value, CompactVerdict):
            flagged = not answer.value.same
            said = "; ".join(f"{one.kind}: {one.detail}" for one in answer.value.differences)
        else:
            unscored.append(unscored_row(int(row["record"]), str(row["check"]), answer.failure or "none", answer.raw))
        verdicts.append({**{c: row[c] for c in ("record", "check", "kind")}, "flagged": flagged, "explanation": said})
    frame = pd.DataFrame(verdicts, columns=["record", "check", "kind", "flagged", "explanation"])
    types = {"record": "int64", "check": "object", "kind": "object", "flagged": "boolean", "explanation": "object"}
    return frame.astype(types), unscored


def _call(row: dict[object, object]) -> Call:
    key = f"{row['record']}/planted/{row['check']}"
    if row["check"] == "compact":
        prompt = render("tasks.notes", "compare_compact", note=row["note"], compact=row["compact"])
        return Call(key, prompt, reply=CompactVerdict)
    prompt = render("tasks.notes", "consistency", instructions=row["instructions"], note=row["note"])
    return Call(key, prompt, reply=ConsistencyVerdict)


def verdict_rows(verdicts: pd.DataFrame, *, stage: str, system: str, seed: int, provenance: str) -> pd.DataFrame:
    """Metric rows: precision and recall of each kind and of all, specificity on notes without error.

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
    """Recall, and precision at as many notes with the error as without."""
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
