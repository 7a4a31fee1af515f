"""What tests need of MED-OMIT: verdicts as its judging makes them, and its part of tables of general tests."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from flows.repository.params import load_params
from schemas.params.measures import MedOmit
from schemas.tables.verdicts import VERDICTS, verdict_table
from tasks.llm.calls import Call, Reply
from tasks.llm.recorded import RecordedAsk
from tasks.measures.med_omit.fact_score import DiagnosisNames
from tasks.measures.med_omit.judging import (
    DIAGNOSES,
    GRADED,
    OMITTED,
    UNIQUE,
    EndOfHistory,
    corrupt_summaries,
    judge,
)
from tasks.measures.med_omit.measure import SYSTEMS
from tasks.measures.med_omit.replies import Differential, EvidenceClusters, Facts, Importances, Mechanisms, Omissions
from tasks.texts.document import SOURCE, Document
from tests.support.scripted import ScriptedAsk


def facts_judged(facts: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """VERDICTS on facts, each by its fields; those that it lacks have defaults.

    document, fact, text, kind; category, weight, supports, refutes, truth, uniqueness; omitted: by system, the verdict
    True, False or None, or the extent.
    """
    rows = []
    for one in facts:
        about = {"document": one.get("document", "1"), "unit": one["fact"], "text": one.get("text", one["fact"])}
        about |= {"item": "all", "condition": "paper", "kind": one.get("kind", "medical"), "weight": one.get("weight")}
        evidence = json.dumps({name: one.get(name, []) for name in ("supports", "refutes")})
        grade = {"metric": GRADED, "value": 0.5, "verdict": one.get("category"), "truth": one.get("truth")}
        rows.append({**about, "system": SOURCE, **grade, "reason": evidence})
        if "uniqueness" in one:
            rows.append({**about, "system": SOURCE, "metric": UNIQUE, "value": one["uniqueness"]})
        for system, said in one.get("omitted", {}).items():
            value = None if said is None else float(bool(said))
            word = said if isinstance(said, str) else "whole" if said else None
            rows.append({**about, "system": system, "metric": OMITTED, "value": value, "verdict": word})
    return VERDICTS.validate(verdict_table(rows, judge="j"))


def differential(document: str, **diagnoses: str) -> pd.DataFrame:
    """VERDICTS of the diagnoses of a source, with their likelihoods."""
    about = {"document": document, "system": SOURCE, "item": "all", "condition": "paper", "metric": DIAGNOSES}
    rows = [
        {**about, "unit": str(rank), "text": name, "value": 0.5, "verdict": likelihood}
        for rank, (name, likelihood) in enumerate(diagnoses.items())
    ]
    return verdict_table(rows, judge="j")


FACTS = {"F0": "Has a cough for 3 days.", "F1": "Smokes.", "F2": "No fever."}
NAMES = ("asthma", "copd (first exacerbation)")
DIFFERENTIAL = DiagnosisNames(NAMES, lambda names: np.eye(len(names)), 0.8)
MEANT: tuple[tuple[type[Reply], dict[str, Any], dict[str, Any]], ...] = (
    (Facts, {"medical": ["He coughs."], "access_and_social": [], "other": ["He smokes."]}, {}),
    (Differential, {"diagnoses": [{"diagnosis": "asthma", "explanation": "wheeze", "likelihood": "probable"}]}, {}),
    (
        Omissions,
        {"facts": [{"fact": f, "explanation": "Missing.", "included": "no"} for f in FACTS]},
        {"facts": FACTS},
    ),
    (Importances, {"facts": [{"fact": f, "category": "other"} for f in FACTS]}, {"facts": FACTS}),
    (
        EvidenceClusters,
        {
            "clusters": [
                {"diagnosis": name, "facts": [{"fact": f, "explanation": "Fits."} for f in facts]}
                for name, facts in zip(NAMES, (["F0"], ["F0", "F1"]), strict=True)
            ]
        },
        {"facts": FACTS, "diagnoses": DIFFERENTIAL},
    ),
    (
        Mechanisms,
        {
            "groups": [
                {"kind": "symptom", "mechanism": "a", "facts": ["F0", "F1"]},
                {"kind": "social", "mechanism": "b", "facts": ["F2"]},
            ]
        },
        {"facts": FACTS},
    ),
    (EndOfHistory, {"last_line": 4}, {"lines": 9}),
)
"""A well-formed reply of each kind: the kind, the content, and the context of its request."""


def _validation(at: int, rater: int, _: dict[str, Any]) -> dict[str, Any]:
    included = ("yes", "yes", "no", "partially")[(at + rater * (at % 5 == 0)) % 4]
    category = ("critical", "important", "other")[(at + rater * (at % 3 == 0)) % 3]
    return {"included": included, "supports": at % 3, "refutes": rater, "category": category}


RETURNED = {"omissions_returned": ("omission_form", "facts", 2, _validation)}
"""How people fill in its form, as in `tests.support.filled_forms`."""
DIALOGUE = (
    "[doctor] what brings you in ?\n[patient] a dry cough for three days .\n[doctor] let me listen to your lungs ."
)
REPLIES: dict[str, dict[str, Any]] = {
    "Facts": {
        "medical": ["Has a dry cough.", "The cough has lasted three days."],
        "access_and_social": [],
        "other": [],
    },
    "Differential": {"diagnoses": [{"diagnosis": "Common cold", "explanation": "cough", "likelihood": "probable"}]},
    "Importances": {"facts": [{"fact": fact, "category": "important"} for fact in ("F0", "F1")]},
    "EvidenceClusters": {"clusters": [{"diagnosis": "common cold", "facts": ["F0", "F1"]}]},
    "Mechanisms": {"groups": [{"kind": "symptom", "mechanism": "airway inflammation", "facts": ["F0", "F1"]}]},
    "Omissions": {"facts": [{"fact": fact, "included": "yes"} for fact in ("F0", "F1")]},
    "EndOfHistory": {"last_line": 1},
}


def requests(asked: Callable[[Awaitable[Any], ScriptedAsk, str], dict[str, Call]], text: str) -> dict[str, Call]:
    """The first request of each task, for the golden prompts; ``text`` is written where one is asked for."""

    def reply(call: Call) -> str | Reply:
        kind = call.reply
        return text if kind is None else kind.model_validate(REPLIES[kind.__name__], context=call.context)

    ask, rewriting = ScriptedAsk(reply), ScriptedAsk(reply)
    document = Document("e", (DIALOGUE,), outputs={"a": "Cough for three days."})
    found: dict[str, Call] = {}
    for params in (MedOmit(), MedOmit(importance="note")):
        work = judge(ask, [document], params, lambda names: np.eye(len(names)), scope="history", write=ask)
        found |= asked(work, ask, "tasks/measures/med_omit")
    texts = {"F0": "Cough.", "F1": "Fever."}
    facts = facts_judged({"document": "e", "fact": f, "text": t, "omitted": {"s": False}} for f, t in texts.items())
    rewritten = corrupt_summaries(rewriting, ask, facts, {"e": "Cough and fever."}, remove=1, seed=1)
    return found | asked(rewritten, rewriting, "tasks/measures/med_omit")


def judge_recorded(encounters: Sequence[Document], ask: RecordedAsk) -> None:
    """Ask all that the recorded judge was asked, and see what it answered."""
    from flows.stages.med_omit import JUDGED_ENCOUNTERS, judge_omissions, visits_drawn  # most tests need no stage

    found = asyncio.run(judge_omissions(encounters, ask, load_params()))
    assert found["unscored"]["reason"].str.contains("least_lines|no fact").all()
    assert set(found["verdicts"].dropna(subset="value")["system"]) == {SOURCE, *SYSTEMS.values()}
    assert len(visits_drawn(encounters)) == JUDGED_ENCOUNTERS
