"""MED-OMIT from answers to tables: failed steps, empty summaries, several clusters, importance by the network."""

import asyncio
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from schemas.params.med_omit import MedOmit
from schemas.params.overlap import Overlap
from schemas.tables.evaluation import FACTS, OMITTED
from schemas.tables.metrics import METRICS
from tasks.evaluation.documents.encounters import encounter_documents
from tasks.evaluation.med_omit.clusters import build_cases
from tasks.evaluation.med_omit.diagnosis_names import DiagnosisNames, merged
from tasks.evaluation.med_omit.dialogues import judge_dialogues, overlap_with_omissions
from tasks.evaluation.med_omit.judging import judge_omissions
from tasks.evaluation.med_omit.metrics import difference_rows, document_scores, extent_rows, metric_rows
from tasks.evaluation.med_omit.network_importance import add_posterior_shift, agreement_rows, symptoms_of_facts
from tasks.evaluation.med_omit.steps import find_omissions
from tasks.evaluation.med_omit.tables import fact_table
from tasks.llm.calls import Answer, Call
from tasks.network.definition import load_definition
from tasks.network.inference import posterior
from tests.support.direct import DirectAsk

NOTE = "The patient has a cough. He smokes."
REPLIES = {
    "facts": {"medical": ["Has a cough.", "Smokes."], "access_and_social": [], "other": []},
    "differential": {
        "diagnoses": [
            {"diagnosis": "Asthma", "likelihood": "probable", "explanation": ""},
            {"diagnosis": "COPD", "likelihood": "possible", "explanation": ""},
        ]
    },
    "importance": {"facts": [{"fact": "F0", "category": "other"}, {"fact": "F1", "category": "important"}]},
    "supports": {"clusters": [{"diagnosis": "asthma", "facts": ["F0", "F1"]}, {"diagnosis": "copd", "facts": ["F0"]}]},
    "refutes": {"clusters": [{"diagnosis": "asthma", "facts": []}, {"diagnosis": "copd", "facts": []}]},
    "mechanisms": {"groups": [{"mechanism": "one", "facts": ["F0", "F1"]}]},
    "omissions": {"omitted": [{"fact": "F0", "explanation": "", "extent": "part"}]},
}


class Script:
    """Answers each step with a fixed reply; the steps in ``refused`` fail."""

    label = "script"

    def __init__(self, *refused: str) -> None:
        self.refused, self.asked = refused, []

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Answer:
        step = call.key.split("/")[1]
        self.asked.append(step)
        if step in self.refused:
            return Answer(call.key, failure="refused")
        text = json.dumps(REPLIES[step])
        assert call.reply is not None
        try:
            return Answer(call.key, text=text, value=call.reply.model_validate_json(text, context=call.context))
        except ValidationError as error:
            return Answer(call.key, failure=str(error.errors()[0]["msg"]), raw=text)


def judged(ask: Script, summary: str = "Smokes.") -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, list]:
    params = MedOmit()
    made, unscored = asyncio.run(judge_omissions(ask, {"1": NOTE}, {"s": {"1": summary}}, params, unlike))
    return made["facts"], made["omitted"], made["differences"], unscored


def unlike(names: Sequence[str]) -> np.ndarray:
    """Vectors by which no two names are similar."""
    return np.eye(len(names))


def test_fact_in_several_clusters_scores_its_largest_uniqueness() -> None:
    facts, omitted, differences, unscored = judged(Script())
    FACTS.validate(facts)
    OMITTED.validate(omitted)
    assert unscored == []
    cough, smokes = facts.to_dict("records")
    assert json.loads(cough["supports"]) == ["asthma", "copd"]
    assert cough["uniqueness"] == 1  # alone for copd, one of two for asthma
    assert (smokes["uniqueness"], smokes["score"]) == (0.5, 0.5)
    scores = document_scores(facts, omitted)
    assert scores[["facts", "count", "weight"]].to_numpy().tolist() == [[2, 1, 1.0]]
    assert differences[["lost", "added", "shifted"]].to_numpy().tolist() == [[0, 0, 0]]


def test_partial_omissions_count_in_full_and_their_share_is_a_metric() -> None:
    _, omitted, _, _ = judged(Script())
    assert omitted["extent"].tolist()[:1] == ["part"] and omitted["omitted"].tolist() == [True, False]
    rows = extent_rows(omitted, seed=1, provenance="p", condition="paper")
    assert rows[["metric", "value", "n", "unscored"]].to_numpy().tolist() == [["omitted_in_part", 1.0, 1, 0]]
    bare = extent_rows(omitted.assign(extent=None), seed=1, provenance="p", condition="paper")
    assert bare["unscored"].tolist() == [1]


def test_an_empty_summary_omits_every_fact_without_a_call() -> None:
    ask = Script()
    facts, omitted, _, _ = judged(ask, " \n")
    assert "omissions" not in ask.asked
    assert omitted["omitted"].tolist() == [True, True]
    assert document_scores(facts, omitted)["weight"].tolist() == [1.5]


@pytest.mark.parametrize("step", ["facts", "differential", "importance", "supports", "refutes"])
def test_a_failed_step_ends_the_case_unscored(step: str) -> None:
    facts, omitted, _, unscored = judged(Script(step))
    assert facts.empty
    assert document_scores(facts, omitted).empty
    assert [row["reason"] for row in unscored] == ["refused"]
    rows = metric_rows(document_scores(facts, omitted), documents=1, seed=1, provenance="p", condition="paper")
    assert rows.empty  # a failed judgement does not score 0


def test_failed_omissions_are_null_and_do_not_affect_other_systems() -> None:
    facts, omitted, _, unscored = judged(Script("omissions"))
    assert omitted["omitted"].isna().all()
    assert unscored[0]["step"] == "omissions of s"
    other = omitted.assign(system="t", omitted=pd.array([False, False], dtype="boolean"))
    scores = document_scores(facts, pd.concat([omitted, other]))
    rows = METRICS.validate(metric_rows(scores, documents=1, seed=1, provenance="p", condition="paper"))
    assert set(rows["system"]) == {"t"}
    found = rows.set_index("metric")["value"]
    assert found["omission_count"] == 0


BAD_REPLIES = {
    "a fact without a grade": ("importance", {"facts": [{"fact": "F1", "category": "important"}]}, "F0 are missing"),
    "a grade of no fact": ("importance", {"facts": [{"fact": "F7", "category": "other"}]}, "not the id of a fact"),
    "two grades of a fact": (
        "importance",
        {"facts": [{"fact": f, "category": c} for f, c in (("F0", "other"), ("F1", "other"), ("F1", "critical"))]},
        "more than once",
    ),
    "evidence that is no fact": (
        "supports",
        {"clusters": [{"diagnosis": name, "facts": ["F2"]} for name in ("asthma", "copd")]},
        "not the id of a fact",
    ),
    "a missing diagnosis": (
        "supports",
        {"clusters": [{"diagnosis": "copd", "facts": []}]},
        "missing",
    ),
    "an unknown diagnosis": (
        "refutes",
        {"clusters": [{"diagnosis": name, "facts": []} for name in ("asthma", "gout")]},
        "not a diagnosis of the differential",
    ),
    "an omission that is no fact": ("omissions", {"omitted": ["F0", "F9"]}, "not the id of a fact"),
}


@pytest.mark.parametrize("case", BAD_REPLIES)
def test_a_bad_reply_leaves_the_document_unscored_with_its_reason(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    step, reply, reason = BAD_REPLIES[case]
    monkeypatch.setitem(REPLIES, step, reply)
    facts, omitted, _, unscored = judged(Script())
    assert document_scores(facts, omitted).empty
    assert [row["step"].split()[0] for row in unscored] == [step]
    assert reason in unscored[0]["reason"]


@pytest.mark.parametrize("groups", [None, [["F0"]], [["F0", "F1"], ["F1"]], [["F0", "F8"]]])
def test_failed_mechanisms_lose_their_cluster_and_not_the_document(
    monkeypatch: pytest.MonkeyPatch, groups: list[list[str]] | None
) -> None:
    ask = Script(*([] if groups else ["mechanisms"]))
    if groups:
        listed = [{"mechanism": str(number), "facts": facts} for number, facts in enumerate(groups)]
        monkeypatch.setitem(REPLIES, "mechanisms", {"groups": listed})
    facts, omitted, _, unscored = judged(ask)
    assert [row["step"] for row in unscored] == ["mechanisms/asthma/supports"]
    cough, smokes = facts.to_dict("records")
    assert (cough["uniqueness"], json.loads(cough["supports"])) == (1, ["copd"])
    assert np.isnan(smokes["uniqueness"]) and smokes["score"] == 0.5
    assert document_scores(facts, omitted)["weight"].tolist() == [1.0]


def test_a_single_fact_needs_no_call_to_be_grouped() -> None:
    ask = Script()
    judged(ask)
    assert ask.asked.count("mechanisms") == 1  # asthma has two facts, copd one


def test_ids_and_grades_are_read_as_models_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    grades = [{"fact": "f0: Has a cough.", "category": "Other"}, {"fact": "1", "category": "IMPORTANT"}]
    monkeypatch.setitem(REPLIES, "importance", {"facts": grades})
    monkeypatch.setitem(REPLIES, "omissions", {"omitted": ["[F0]", "has a cough"]})
    facts, omitted, _, unscored = judged(Script())
    assert unscored == [] and facts["category"].tolist() == ["other", "important"]
    assert omitted["omitted"].tolist() == [True, False]


def test_renamed_diagnoses_are_neither_lost_nor_added(monkeypatch: pytest.MonkeyPatch) -> None:
    class Renaming(Script):
        def _answer(self, call: Call) -> Answer:
            if "<text>\nSmokes." in call.messages[-1].content:
                names = ("Airway disease from smoking", "ASTHMA (mild)", "Gout")
                listed = [{"diagnosis": name, "explanation": "", "likelihood": "possible"} for name in names]
                with monkeypatch.context() as patch:
                    patch.setitem(REPLIES, "differential", {"diagnoses": listed})
                    return super()._answer(call)
            return super()._answer(call)

    def alike(names: Sequence[str]) -> np.ndarray:
        return np.array(
            [[1.0, 0.0] if name in ("copd", "airway disease from smoking") else [0.0, 1.0] for name in names]
        )

    made, unscored = asyncio.run(judge_omissions(Renaming(), {"1": NOTE}, {"s": {"1": "Smokes."}}, MedOmit(), alike))
    assert unscored == []
    assert made["differences"][["lost", "added"]].to_numpy().tolist() == [[0, 1 / 3]]


def test_synonyms_are_one_diagnosis_whatever_the_encoder_knows() -> None:
    given = [
        ("GERD", "possible"),
        ("Gastroesophageal Reflux Disease (GERD)", "probable"),
        ("Acute bronchitis", "possible"),
    ]
    assert merged(given) == {"gerd": "probable", "acute bronchitis": "possible"}
    assert merged([("Heart attack (STEMI)", "possible"), ("MI", "unlikely")]) == {"heart attack (stemi)": "possible"}
    names = DiagnosisNames(tuple(merged(given)), unlike, 0.8)
    assert names.match(["acid reflux", "bronchitis, acute", "chronic bronchitis"]) == ["gerd", "acute bronchitis", None]


def test_source_without_facts_omits_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REPLIES, "facts", {"medical": [], "access_and_social": [], "other": []})
    cases = asyncio.run(build_cases(Script(), {"1": NOTE}, lambda names: DiagnosisNames(tuple(names), unlike, 0.8)))
    found, failures = asyncio.run(find_omissions(Script(), cases, {"1": "x"}))
    assert (found, failures) == ({"1": {}}, [])
    assert fact_table(cases, variant="paper").empty


def test_differences_are_means_over_documents() -> None:
    table = pd.DataFrame(
        {"document": ["1", "2"], "system": "s", "lost": [0.0, 0.5], "added": [0.0, 0.0], "shifted": [1.0, 0.0]}
    )
    rows = METRICS.validate(difference_rows(table, documents=3, seed=1, provenance="p", condition="paper"))
    found = rows.set_index("metric")
    assert found.loc["differential_lost", "value"] == pytest.approx(0.25)
    assert found.loc["differential_shifted", "unscored"] == 1


def test_several_summary_models_share_one_table() -> None:
    encounters = pd.DataFrame(
        {
            "encounter": ["e"],
            "dialogue": ["[doctor] how are you ?\n[patient] i have had a bad cough for three weeks now ."],
            "note": ["HISTORY\nThe patient has had a bad cough for three weeks."],
        }
    )
    outputs = {"good": {"e": "HISTORY\nBad cough for three weeks."}, "empty": {"e": ""}}
    documents = encounter_documents(encounters, outputs)
    work = judge_dialogues(DirectAsk("vignette-writer"), DirectAsk(), documents, MedOmit(least_lines=1), unlike)
    made, unscored = asyncio.run(work)
    assert unscored == []
    scores = document_scores(made["facts"], made["omitted"]).set_index("system")
    assert set(scores.index) == {"writer", "good", "empty"}
    assert scores.loc["empty", "count"] == scores.loc["empty", "facts"] > scores.loc["good", "count"]
    together = overlap_with_omissions(scores.reset_index(), made["summaries"], {"e": encounters["note"][0]}, Overlap())
    assert together.set_index("system").loc["empty", "rouge1_f"] == 0


def _facts(**changes: list) -> pd.DataFrame:
    columns = {"document": ["1", "1", "1"], "fact": ["F0", "F1", "F2"]}
    texts = ["Dry cough for a week.", "The cough is worse at night.", "High fever."]
    return pd.DataFrame({**columns, "text": texts, "category": ["other", "important", "critical"], **changes})


def test_importance_by_the_network_is_the_move_of_the_posterior() -> None:
    network = load_definition()
    spans = pd.DataFrame(
        {
            "record": [1, 1, 1],
            "version": "normal",
            "symptom": ["cough", "cough", "fever"],
            "text": ["dry cough", "cough is worse", "High fever"],
        }
    )
    prompts = pd.DataFrame({"record": [1], "values": [json.dumps({"cough": "yes", "fever": "high", "pain": "no"})]})
    facts = _facts(posterior_shift=[np.nan] * 3)
    stated = symptoms_of_facts(facts, spans)
    assert [sorted(stated["1", fact]) for fact in ("F0", "F1", "F2")] == [["cough"], ["cough"], ["fever"]]
    found = add_posterior_shift(facts, stated, prompts, network, ["pneumonia", "common_cold"])
    assert found["posterior_shift"].tolist()[:2] == [0, 0]  # the other fact still states the cough
    moves = []
    for diagnosis in ("pneumonia", "common_cold"):
        full = posterior(network, pd.DataFrame({"cough": ["yes"], "fever": ["high"]}), diagnosis)
        rest = posterior(network, pd.DataFrame({"cough": ["yes"]}), diagnosis)
        moves.append(float(np.abs(np.asarray(full) - np.asarray(rest)).sum() / 2))
    assert found["posterior_shift"].iloc[2] == pytest.approx(max(moves), abs=1e-9)
    assert max(moves) > 0.01


def test_a_fact_that_states_no_symptom_has_no_network_importance() -> None:
    facts = _facts(posterior_shift=[np.nan] * 3)
    prompts = pd.DataFrame({"record": [1], "values": ["{}"]})
    stated = {("1", fact): frozenset[str]() for fact in facts["fact"]}
    assert add_posterior_shift(facts, stated, prompts, load_definition(), ["pneumonia"])["posterior_shift"].isna().all()


def test_agreement_of_the_judges_grades_with_the_network() -> None:
    graded = _facts(posterior_shift=[0.0, 0.1, 0.3])
    rows = agreement_rows(graded, stage="med_omit", seed=1, provenance="p", condition="paper")
    found = METRICS.validate(rows).set_index(["item", "metric"])["value"]
    assert found["all", "importance_kendall"] == pytest.approx(1)
    assert found["critical", "posterior_shift"] == pytest.approx(0.3)
    turned = _facts(posterior_shift=[0.3, 0.1, 0.0])
    rows = agreement_rows(turned, stage="med_omit", seed=1, provenance="p", condition="paper")
    assert rows.set_index(["item", "metric"])["value"]["all", "importance_kendall"] == pytest.approx(-1)


def test_agreement_without_graded_facts_is_missing_and_ungraded_facts_are_counted() -> None:
    ungraded = _facts(posterior_shift=[0.0, 0.1, np.nan]).assign(category=[None, None, "critical"])
    rows = agreement_rows(ungraded, stage="med_omit", seed=1, provenance="p", condition="paper")
    found = rows[rows["item"] == "all"].set_index("metric")
    assert found["value"].isna().all() and set(found["n"]) == {0} and set(rows["unscored"]) == {2}
