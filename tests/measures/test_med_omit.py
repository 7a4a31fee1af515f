"""MED-OMIT: formulas by hand, answers to tables, failed steps, importance by the network, ACI-BENCH."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from schemas.params.measures import MedOmit
from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import VERDICTS
from tasks.llm.calls import Call
from tasks.measures.measure import Metrics, figures, scores
from tasks.measures.med_omit.fact_score import (
    Cluster,
    DiagnosisNames,
    differential_difference,
    fact_score,
    merged,
    uniqueness,
)
from tasks.measures.med_omit.judging import DIAGNOSES, GRADED, OMITTED, REMOVED, UNIQUE, corrupt_summaries, judge
from tasks.measures.med_omit.judging import METRICS as OMITTED_METRICS
from tasks.measures.med_omit.measure import graded_weights
from tasks.measures.med_omit.network_importance import add_posterior_shift, agreement_rows, symptoms_of_facts
from tasks.measures.med_omit.replies import IncludedFact, Omissions
from tasks.network.inference import posterior
from tasks.texts.document import Document, Tables
from tests.measures.med_omit_examples import facts_judged
from tests.support.records import NETWORK
from tests.support.scripted import DirectAsk, Said, ScriptedAsk, as_reply

SHARED = {"seed": 1, "provenance": "p", "condition": "paper"}


def rows_of(verdicts: pd.DataFrame, metrics: Metrics = OMITTED_METRICS) -> pd.DataFrame:
    """METRICS of the verdicts by metric."""
    found = figures(verdicts, metrics, stage="med_omit", seed=1, provenance="p")
    return METRICS.validate(found).set_index("metric")


def scores_of(verdicts: pd.DataFrame) -> dict[str, float]:
    """Scores of the only text by metric."""
    return scores(verdicts, OMITTED_METRICS).set_index("metric")["value"].to_dict()


def of(made: Tables, metric: str) -> pd.DataFrame:
    """The verdicts of a metric by unit."""
    return made["verdicts"][made["verdicts"]["metric"] == metric].set_index("unit")


CLUSTERS = (
    Cluster("pneumonia", "supports", "infection", frozenset({"F0", "F1", "F2"})),
    Cluster("pneumonia", "supports", "gas exchange", frozenset({"F3"})),
    Cluster("asthma", "supports", "obstruction", frozenset({"F1", "F3"})),
    Cluster("asthma", "refutes", "not expected", frozenset({"F0", "F2"})),
)


def test_uniqueness_is_one_over_the_subclusters_size() -> None:
    assert uniqueness("F3", CLUSTERS) == [1.0, 0.5]
    assert uniqueness("F0", CLUSTERS) == pytest.approx([1 / 3, 1 / 2])
    assert uniqueness("F9", CLUSTERS) == []
    assert uniqueness("F3", CLUSTERS, variant="released") == [1.0, 0.5, 0.5], "1 over the number of diagnoses is added"
    assert uniqueness("F9", CLUSTERS, variant="released") == []


def test_fact_scores_the_larger_of_importance_and_uniqueness() -> None:
    assert fact_score("other", [1 / 3, 1 / 2]) == 0.5
    assert fact_score("important", [1 / 3]) == 0.5
    assert fact_score("critical", [1 / 3]) == 1.0
    assert fact_score("other", []) == 0.1


def test_a_document_sums_the_weights_of_its_omitted_facts() -> None:
    # F0: max(0.1, 1/3, 1/2); F3: max(0.1, 1, 1/2); F9, in no cluster: 0.1
    weights = [fact_score("other", uniqueness(fact, CLUSTERS)) for fact in ("F0", "F3", "F9")]
    assert scores_of(partly([True] * 3, weights))["omission_weight"] == pytest.approx(1.6)
    assert scores_of(partly([False], [1.0]))["omission_weight"] == 0
    assert "omission_weight" not in scores_of(partly([True], [None]))
    nothing_omitted = partly([False, False], [None, None])
    assert "omission_weight" not in scores_of(nothing_omitted), "else only such texts would be scored, with 0"
    assert graded_weights(nothing_omitted, 0.5)["value"].isna().all()


def test_differentials_differ_by_lost_added_and_shifted_diagnoses() -> None:
    source = {"pneumonia": "probable", "asthma": "possible", "copd": "unlikely"}
    summary = {"pneumonia": "unlikely", "asthma": "possible", "influenza": "possible"}
    found = differential_difference(source, summary)  # type: ignore[arg-type]
    assert found == pytest.approx({"lost": 1 / 3, "added": 1 / 3, "shifted": 0.5})
    assert differential_difference({}, {}) == {"lost": 0.0, "added": 0.0, "shifted": 0.0}


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
    "mechanisms": {"groups": [{"kind": "symptom", "mechanism": "one", "facts": ["F0", "F1"]}]},
    "omissions": {"facts": [{"fact": "F0", "included": "partly"}, {"fact": "F1", "included": "yes"}]},
}


def script(*refused: str) -> ScriptedAsk:
    """Answers each step with a fixed reply; the steps in ``refused`` fail."""

    def answer(call: Call) -> Said:
        step = call.key.split("/")[1]
        return ValueError("refused") if step in refused else as_reply(call, json.dumps(REPLIES[step]))

    return ScriptedAsk(answer)


def judged(ask: ScriptedAsk, summary: str = "Smokes.", encode=None) -> Tables:  # type: ignore[no-untyped-def]
    document = Document("1", (NOTE,), outputs={"s": summary})
    return asyncio.run(judge(ask, [document], MedOmit(), encode or unlike))


def unlike(names: Sequence[str]) -> np.ndarray:
    """Vectors by which no two names are similar."""
    return np.eye(len(names))


def test_fact_in_several_clusters_scores_its_largest_uniqueness() -> None:
    ask = script()
    made = judged(ask)
    assert sum("mechanisms" in call.key for call in ask.calls) == 1, "asthma has two facts; the one of copd is no group"
    VERDICTS.validate(made["verdicts"])
    assert made["unscored"].empty
    grades, unique = of(made, GRADED), of(made, UNIQUE)["value"]
    assert json.loads(grades.loc["F0", "reason"]) == {"supports": ["asthma", "copd"], "refutes": []}
    assert unique["F0"] == 1  # alone for copd, one of two for asthma
    assert (unique["F1"], grades.loc["F1", "weight"], grades.loc["F1", "value"]) == (0.5, 0.5, 0.5)
    assert of(made, DIAGNOSES)[["text", "verdict", "value"]].to_numpy().tolist() == [
        ["asthma", "probable", 1.0],
        ["copd", "possible", 0.5],
    ]
    differences = {f"differential_{name}": 0.0 for name in ("lost", "added", "shifted")}
    omitted = {"omission_count": 1.0, "omission_weight": 1.0, "omission_share": 0.5}
    assert scores_of(made["verdicts"]) == omitted | differences


def test_partial_omissions_count_in_full_and_their_share_is_a_metric() -> None:
    made = judged(script())
    assert of(made, OMITTED)["verdict"].tolist()[:1] == ["part"] and of(made, OMITTED)["value"].tolist() == [1, 0]
    assert rows_of(made["verdicts"]).loc["omitted_in_part", ["value", "n", "unscored"]].tolist() == [1.0, 1, 0]
    whole = facts_judged({"fact": f"F{at}", "omitted": {"s": said}} for at, said in enumerate(("part", "whole", False)))
    assert rows_of(whole).loc["omitted_in_part", ["value", "n"]].tolist() == [0.5, 2]


def test_an_empty_summary_omits_every_fact_without_a_call() -> None:
    ask = script()
    made = judged(ask, " \n")
    assert not any("omissions" in call.key for call in ask.calls)
    assert of(made, OMITTED)["value"].tolist() == [1, 1] and scores_of(made["verdicts"])["omission_weight"] == 1.5


def test_a_document_whose_facts_are_not_listed_is_unscored() -> None:
    made = judged(script("facts"))
    assert of(made, GRADED).empty and made["unscored"]["reason"].tolist() == ["refused"]
    rows = rows_of(made["verdicts"])
    assert {"omission_weight_std", "differential_lost"} < set(rows.index)
    is_range = rows.index.str.endswith("_bounds")
    assert rows.index[is_range].tolist() == ["omission_share_bounds"], "nobody knows how many facts there are"
    assert rows.loc[is_range, ["low", "high", "n"]].to_numpy().tolist() == [[0, 1, 1]]
    rows = rows[~is_range]
    assert rows["value"].isna().all() and rows["n"].eq(0).all() and rows["unscored"].eq(1).all()


def test_an_expected_output_that_is_missing_is_unscored() -> None:
    document = Document("1", (NOTE,), outputs={"s": "Smokes."})
    made = asyncio.run(judge(script(), [document], MedOmit(), unlike, expected=("s", "t")))
    rows = rows_of(made["verdicts"]).reset_index()
    found = rows[rows["metric"].isin(["omission_share", "differential_lost"])].groupby("system")[["n", "unscored"]]
    assert found.agg(list).to_dict("index") == {
        "s": {"n": [1, 1], "unscored": [0, 0]},
        "t": {"n": [0, 0], "unscored": [1, 1]},
    }


@pytest.mark.parametrize("step", ["differential", "importance", "supports", "refutes"])
def test_a_failed_grade_loses_the_weight_and_not_the_count(step: str) -> None:
    made = judged(script(step))
    (row,) = made["unscored"].to_dict("records")
    assert row["step"].split()[0] == step and row["reason"] == "refused"
    found, rows = scores_of(made["verdicts"]), rows_of(made["verdicts"])
    assert (found["omission_count"], found["omission_share"]) == (1, 0.5) and "omission_weight" not in found
    bounds = rows.loc["omission_weight_bounds", ["low", "high"]].tolist()
    assert bounds == [0.1, 1.0], "the least and the largest weight of a fact"
    assert rows.loc["omission_count", ["value", "n", "unscored"]].tolist() == [1, 1, 0]
    assert rows.loc["omission_weight", "unscored"] == 1


def partly(judgements: Sequence[bool | None], weights: Sequence[float | None], document: str = "1") -> pd.DataFrame:
    """VERDICTS on one document with the given judgements and weights of its facts."""
    return facts_judged(
        {"document": document, "fact": f"F{at}", "weight": weight, "omitted": {"s": omitted}}
        for at, (omitted, weight) in enumerate(zip(judgements, weights, strict=True))
    )


def test_unjudged_facts_count_at_the_rate_of_the_judged_and_have_bounds() -> None:
    """One of three judged facts is omitted, with a weight of 0.5; a fourth may be omitted, with a weight of 1."""
    rows = rows_of(partly([True, False, False, None], [0.5, 0.1, 0.1, 1.0]))
    found = {name: rows.loc[f"omission_{name}_bounds", ["value", "low", "high"]].tolist() for name in MEASURES}
    assert found["count"] == pytest.approx([4 / 3, 1, 2]) and found["share"] == pytest.approx([1 / 3, 0.25, 0.5])
    assert found["weight"] == pytest.approx([4 / 3 * 0.5, 0.5, 1.5])
    rows = rows_of(partly([True, None], [0.5, 0.5]))
    assert rows.loc["omission_count_bounds", ["value", "low", "high", "n"]].tolist() == [2, 1, 2, 1]
    assert rows.loc[["omission_count", "omission_count_bounds"], "unscored"].tolist() == [0, 1], "scored in part"
    assert not rows_of(partly([True, False], [0.5, 0.5])).index.str.endswith("_bounds").any()
    none = rows_of(partly([None, None], [0.5, 0.5])).loc["omission_count_bounds"]
    assert np.isnan(none["value"]) and none[["low", "high", "unscored"]].tolist() == [0, 2, 1]


MEASURES = ("count", "weight", "share")


def test_facts_that_a_reply_skips_are_unscored_and_do_not_lower_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the four judged facts are omitted; two of six have no verdict, and may be omitted or not."""
    names = [f"F{at}" for at in range(6)]
    monkeypatch.setitem(REPLIES, "facts", {"medical": names, "access_and_social": [], "other": []})
    grades = [{"fact": name, "category": "important"} for name in names]
    monkeypatch.setitem(REPLIES, "importance", {"facts": grades})
    given = [("F0", "no"), ("F2", "yes"), ("F3", "partly"), ("F5", "yes")]
    monkeypatch.setitem(REPLIES, "omissions", {"facts": [{"fact": f, "included": v} for f, v in given]})
    made = judged(script())
    omitted = of(made, OMITTED)["value"]
    assert omitted[["F1", "F4"]].isna().all() and omitted[["F0", "F2", "F3", "F5"]].tolist() == [1, 0] * 2
    (row,) = made["unscored"].to_dict("records")
    assert (row["record"], row["step"], row["detail"]) == ("1", "omissions of s", "F1, F4")
    assert row["reason"] == "2 of 6 facts without a verdict"
    rows = rows_of(made["verdicts"])
    assert rows.loc["omission_count_bounds", ["value", "low", "high"]].tolist() == [3, 2, 4]
    assert rows.loc["omission_share", "value"] == 0.5


def test_failed_omissions_are_null_and_do_not_affect_other_systems() -> None:
    made = judged(script("omissions"))
    omitted = made["verdicts"][made["verdicts"]["metric"] == OMITTED]
    assert omitted["value"].isna().all() and made["unscored"]["step"].tolist() == ["omissions of s"]
    both = pd.concat([made["verdicts"], omitted.assign(system="t", value=0.0)], ignore_index=True)
    found = rows_of(both).loc[["omission_count"]].set_index("system")[["value", "n", "unscored"]]
    assert found.loc["t"].tolist() == [0, 1, 0] and found.loc["s"].tolist()[1:] == [0, 1]


def test_failed_mechanisms_lose_their_cluster_and_not_the_document() -> None:
    made = judged(script("mechanisms"))
    assert made["unscored"]["step"].tolist() == ["mechanisms/asthma/supports"]
    assert of(made, UNIQUE)["value"].to_dict() == {"F0": 1}
    grades = of(made, GRADED)
    assert json.loads(grades.loc["F0", "reason"])["supports"] == ["copd"] and grades.loc["F1", "weight"] == 0.5
    assert scores_of(made["verdicts"])["omission_weight"] == 1


def test_a_fact_in_two_groups_of_a_diagnosis_has_the_uniqueness_of_the_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    together = {"kind": "symptom", "mechanism": "obstruction", "facts": ["F0", "F1"]}
    monkeypatch.setitem(
        REPLIES, "mechanisms", {"groups": [together, {"kind": "social", "mechanism": "exposure", "facts": ["F1"]}]}
    )
    made = judged(script())
    assert made["unscored"].empty and of(made, UNIQUE)["value"].tolist() == [1, 1], "F0 is alone for copd"
    assert of(made, GRADED)["weight"].tolist() == [1, 1]


def test_renamed_diagnoses_are_neither_lost_nor_added() -> None:
    names = ("Airway disease from smoking", "ASTHMA (mild)", "Gout")
    listed = [{"diagnosis": name, "explanation": "", "likelihood": "possible"} for name in names]

    def renamed(call: Call) -> Said:
        if "/differential" in call.key and "<text>\nSmokes." in call.messages[-1].content:
            return as_reply(call, json.dumps({"diagnoses": listed}))
        return script().script(call)

    def alike(names: Sequence[str]) -> np.ndarray:
        return np.array(
            [[1.0, 0.0] if name in ("copd", "airway disease from smoking") else [0.0, 1.0] for name in names]
        )

    made = judged(ScriptedAsk(renamed), encode=alike)
    assert made["unscored"].empty
    found = scores_of(made["verdicts"])
    assert [found["differential_lost"], found["differential_added"]] == [0, 1 / 3]


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


def test_a_source_without_facts_is_unscored_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REPLIES, "facts", {"medical": [], "access_and_social": [], "other": []})
    made = judged(script())
    assert of(made, GRADED).empty and of(made, OMITTED)["value"].isna().tolist() == [True]
    assert made["unscored"][["step", "reason"]].to_numpy().tolist() == [["facts", "no fact is listed"]]


def graded(truth: Sequence[float | None] = (None,) * 3, **changes: Any) -> pd.DataFrame:
    """VERDICTS on three facts, with the shift by the network as truth."""
    texts = ["Dry cough for a week.", "The cough is worse at night.", "High fever."]
    facts = zip(texts, ("other", "important", "critical"), truth, strict=True)
    return facts_judged(
        {"fact": f"F{at}", "text": text, "category": category, "truth": shift, "omitted": {"s": True}} | changes
        for at, (text, category, shift) in enumerate(facts)
    )


def test_importance_by_the_network_is_the_move_of_the_posterior() -> None:
    network = NETWORK
    spans = pd.DataFrame(
        {
            "record": [1, 1, 1],
            "version": "normal",
            "symptom": ["cough", "cough", "fever"],
            "text": ["dry cough", "cough is worse", "High fever"],
        }
    )
    prompts = pd.DataFrame({"record": [1], "values": [json.dumps({"cough": "yes", "fever": "high", "pain": "no"})]})
    facts = graded()
    stated = symptoms_of_facts(facts, spans)
    assert [sorted(stated["1", fact]) for fact in ("F0", "F1", "F2")] == [["cough"], ["cough"], ["fever"]]
    found = add_posterior_shift(facts, stated, prompts, network, ["pneumonia", "common_cold"])
    shifts = found[found["metric"] == GRADED].set_index("unit")["truth"]
    assert shifts[["F0", "F1"]].tolist() == [0, 0]  # the other fact still states the cough
    assert found.loc[found["metric"] == OMITTED, "truth"].isna().all()
    moves = []
    for diagnosis in ("pneumonia", "common_cold"):
        full = posterior(network, pd.DataFrame({"cough": ["yes"], "fever": ["high"]}), diagnosis)
        rest = posterior(network, pd.DataFrame({"cough": ["yes"]}), diagnosis)
        moves.append(float(np.abs(np.asarray(full) - np.asarray(rest)).sum() / 2))
    assert shifts["F2"] == pytest.approx(max(moves), abs=1e-9)
    assert max(moves) > 0.01


def test_agreement_without_graded_facts_is_missing_and_ungraded_facts_are_counted() -> None:
    ungraded = graded((0.0, 0.1, None))
    ungraded["verdict"] = ungraded["verdict"].where(ungraded["unit"] == "F2")
    rows = agreement_rows(ungraded, stage="med_omit", **SHARED)
    found = rows[rows["item"] == "all"].set_index("metric")
    assert found["value"].isna().all() and set(found["n"]) == {0} and set(rows["unscored"]) == {2}


def without_fever(call: Call) -> str:
    """Takes the fever (F1) out of the summary; returns other requests as they are."""
    return "Dry cough." if "F1" in call.messages[-1].content else call.messages[-1].content


def test_removed_facts_are_found_omitted_and_kept_ones_are_not() -> None:
    def stated(smoking: bool | None = False) -> pd.DataFrame:
        facts = {"F0": ("He has a dry cough.", False), "F1": ("He has a fever.", smoking)}
        return facts_judged(
            {"document": "e", "fact": fact, "text": text, "omitted": {"writer": gone}}
            for fact, (text, gone) in facts.items()
        )

    summaries, rewriting = {"e": "Dry cough. Fever."}, ScriptedAsk(without_fever)
    for seed in range(10):  # until F1 is drawn
        work = corrupt_summaries(rewriting, DirectAsk(), stated(), summaries, remove=1, seed=seed)
        table, unscored = asyncio.run(work)
        assert unscored == []
        if table.set_index("unit").loc["F1", "metric"] == "removed_found":
            break
    assert rows_of(table, REMOVED)["value"].to_dict() == {"removed_found": 1, "kept_not_found": 1}
    skipping = ScriptedAsk(lambda _: Omissions(facts=[IncludedFact(fact="F0", included="yes")]))
    work = corrupt_summaries(rewriting, skipping, stated(), summaries, remove=1, seed=1)
    table, unscored = asyncio.run(work)
    assert table["unit"].tolist() == ["F0"] and "1 of 2 facts without" in str(unscored[0]["reason"])
    assert table["value"].tolist() == [1.0 if table["metric"][0] == "kept_not_found" else 0.0]
    work = corrupt_summaries(rewriting, DirectAsk(), stated(True), summaries, remove=1, seed=1)
    assert asyncio.run(work)[0].empty  # a summary with one stated fact is left alone
