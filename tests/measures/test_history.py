"""Summaries of patients over time: damage is by construction, metrics are tested."""

import asyncio
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from flows.repository.params import load_params
from schemas.errors import SourceError
from schemas.params.history import Summarise, VisitNotes
from schemas.tables.visits import HISTORY_SUMMARIES, SUMMARY_TRUTH
from tasks.domains.in_use import in_domain
from tasks.measures.doclens.citations import without_citations
from tasks.measures.doclens.evaluators import Question
from tasks.measures.doclens.judging import Plan
from tasks.measures.grounding.grounding import ground
from tasks.measures.history import metrics
from tasks.measures.history.doses import DAMAGES, UNDAMAGED, dosed_summaries, invented_facts
from tasks.measures.history.judging import judge_summaries, summary_documents, summary_questions, with_truth
from tasks.measures.history.summarising import names_of, not_citing, outside_summaries, summarise
from tasks.network.visits import date_of
from tasks.texts.document import WHOLE, documents_table, system_names
from tasks.texts.reading import Row
from tasks.visits.facts import facts_of, history_facts
from tasks.visits.prompting import visit_prompts, write_visit_notes
from tests.support.histories import random_visits, worder_of
from tests.support.scripted import DirectAsk, ScriptedAsk

PARAMS = Summarise(visits=[1, 8])
WORDER = worder_of("respiratory")
VISITS = random_visits("respiratory", 30)


@cache
def histories() -> dict[str, pd.DataFrame]:
    """Visits, notes, facts and summaries of the first patients, made by the simulator."""
    visits = VISITS[VISITS["patient"] < 4]
    prompts = visit_prompts(visits, WORDER, 7)
    writer, annotator = DirectAsk("vignette-writer"), DirectAsk("vignette-annotator")
    notes, _ = asyncio.run(write_visit_notes(prompts, writer, annotator, VisitNotes()))
    summaries, unscored = asyncio.run(summarise(notes, writer, PARAMS))
    assert unscored.empty
    tables = {"visits": visits, "visit_notes": notes, "history_facts": history_facts(visits, WORDER)}
    return {**tables, "history_summaries": summaries, "questions": summary_questions(visits, WORDER)}


def test_a_summary_above_its_limit_is_kept_whole_and_counted() -> None:
    notes = histories()["visit_notes"].query("patient < 2")
    long = "word " * 100 + "[3]."
    summaries, _ = asyncio.run(summarise(notes, ScriptedAsk(lambda call: long), PARAMS))
    assert set(summaries["text"]) == {long.strip()} and set(summaries["length"]) == {100}
    rows = pd.DataFrame(metrics._lengths(summaries)).set_index(["system", "metric"])["value"]
    assert rows["writer, referral, 60 words", "over_limit"] == 1
    assert rows["writer, referral, 240 words", "over_limit"] == 0


def test_outside_summaries_are_read_and_what_a_file_lacks_is_named() -> None:
    row = {"patient": 0, "purpose": "referral", "words": 60, "text": "Cough since 2012-09-23."}
    found, lacking = outside_summaries({"mine": [Row("f: line 1", row)]}, [0], PARAMS)
    HISTORY_SUMMARIES.validate(found)
    assert found["system"].tolist() == ["mine"] and len(lacking) == 5
    assert "summary/discharge/240 of mine" in set(lacking["step"])
    with pytest.raises(SourceError, match="f: line 2: words missing"):
        outside_summaries({"mine": [Row("f: line 2", {**row, "words": None})]}, [0], PARAMS)
    with pytest.raises(SourceError, match="f: line 2: words is '60 words'; expected a whole number"):
        outside_summaries({"mine": [Row("f: line 2", {**row, "words": "60 words"})]}, [0], PARAMS)
    with pytest.raises(SourceError, match="f: line 2: a second summary of patient 0, referral, 60 words"):
        outside_summaries({"mine": [Row("f: line 1", row), Row("f: line 2", row)]}, [0], PARAMS)
    with pytest.raises(SourceError, match="rename the file"):
        outside_summaries({"writer": []}, [0], PARAMS)


def test_a_patient_with_a_visit_that_has_no_note_is_unscored_and_one_without_facts_or_summaries_left_out() -> None:
    frames = histories().copy()
    frames["visit_notes"] = frames["visit_notes"].query("record != 301")
    frames["history_facts"] = frames["history_facts"].query("patient != 1")
    frames["history_summaries"] = frames["history_summaries"].query("patient != 2")
    frames["questions"] = frames["questions"].query("patient != 0")
    documents, truth, lacking = summary_documents(frames, WORDER, [0, 2], 7)
    assert {one.id for one in documents} == set(truth["document"]) == {"0"}, "1 has no facts, 2 no summary"
    assert documents[0].questions == (), "those on others are not asked of this one"
    assert lacking[["record", "reason"]].to_numpy().tolist() == [["3", "a visit has no note"]]


def patient_visits(patient: int = 0) -> list[dict]:
    return VISITS[VISITS["patient"] == patient].to_dict("records")


def test_damage_is_nested_and_its_truth_follows_from_construction() -> None:
    doses, made = [0, 1, 2, 4, 8], set()
    for patient in range(20):
        visits = patient_visits(patient)
        facts = facts_of(visits, WORDER)
        found = dosed_summaries(visits, WORDER, doses, 7)
        assert found == dosed_summaries(visits, WORDER, doses, 7)
        whole = {WORDER.statement(fact, patient) for fact in facts}
        for one in found:
            sentences = {f"{part}." for part in one.text.rstrip(".").split(". ")}
            assert one.recall == (len(facts) - one.dose * (one.damage == "removed")) / len(facts)
            assert one.precision == pytest.approx(len(sentences & whole) / len(sentences))
            assert len(one.kept) == len(sentences & whole)
        for damage in DAMAGES:
            kept = [one.kept for one in found if one.damage == damage]
            assert all(later <= earlier for earlier, later in pairwise(kept))
        made |= {(one.damage, one.dose) for one in found}
        assert sum(one.system == UNDAMAGED for one in found) == bool(facts)
    assert made == {(damage, dose) for damage in DAMAGES for dose in doses if dose or damage == "removed"}


def test_invented_facts_are_not_in_the_record() -> None:
    for patient in range(30):
        visits = patient_visits(patient)
        facts = facts_of(visits, WORDER)
        assert not {*facts} & {*invented_facts(visits, facts, WORDER)}


def test_a_condition_that_begins_later_is_not_invented() -> None:
    visits = [visit | {"COPD": "no"} for visit in patient_visits(3)]
    assert "COPD" in {fact.item for fact in invented_facts(visits, [], WORDER)}
    visits[-1]["COPD"] = "yes"
    assert "COPD" not in {fact.item for fact in invented_facts(visits, [], WORDER)}


def scores_of(value, damages: tuple[str, ...] = DAMAGES) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of a metric that is ``value(recall, precision)``, and the truth, for 12 patients."""
    truth = [
        {"document": str(p), "system": one.system, "damage": one.damage, "dose": one.dose,
         "recall": one.recall, "precision": one.precision}
        for p in range(12)
        for one in dosed_summaries(patient_visits(p), WORDER, [0, 1, 2, 4], 7)
    ]  # fmt: skip
    SUMMARY_TRUTH.validate(table := pd.DataFrame(truth))
    scores = table.assign(metric="claim_recall", value=[value(r["recall"], r["precision"]) for r in truth])
    return scores[["document", "system", "metric", "value"]], table


def slopes(value, metric: str = "claim_recall") -> pd.DataFrame:
    scores, truth = scores_of(value)
    rows = pd.DataFrame(metrics.dose_rows(scores.assign(metric=metric), truth))
    return rows.set_index(["condition", "metric"])


def test_a_metric_that_follows_the_truth_has_its_slope_and_passes_and_a_flat_one_does_not() -> None:
    recall = slopes(lambda recall, precision: 0.2 + 0.5 * recall)
    assert recall.loc[("removed", "slope"), "value"] == pytest.approx(0.5)
    assert recall.loc[("removed", "follows_truth"), "value"] == 1
    flat = slopes(lambda recall, precision: 0.3)
    assert flat.loc[("removed", "slope"), "value"] == 0 and flat.loc[("removed", "follows_truth"), "value"] == 0
    against = slopes(lambda recall, precision: 1 - recall)
    assert against.loc[("removed", "follows_truth"), "value"] == 0


def test_a_metric_whose_slope_may_be_0_does_not_follow_the_truth() -> None:
    """Half of the patients have a slope of 1, half one of -0.9: the mean is above 0, and its interval is not."""
    scores, truth = scores_of(lambda recall, precision: recall)
    against = scores["document"].isin(sorted(truth["document"].unique())[::2])
    scores["value"] = scores["value"].where(~against, 1 - 0.9 * scores["value"])
    rows = pd.DataFrame(metrics.dose_rows(scores, truth)).set_index(["condition", "metric"])
    slope = rows.loc[("removed", "slope")]
    assert slope["low"] < 0 < slope["value"] and rows.loc[("removed", "follows_truth"), "value"] == 0


def test_a_slope_without_an_interval_decides_nothing() -> None:
    scores, truth = (table[table["document"] == "3"] for table in scores_of(lambda recall, precision: recall))
    rows = pd.DataFrame(metrics.dose_rows(scores, truth)).set_index(["condition", "metric"])
    assert rows.loc[("removed", "slope"), "n"] == 1
    assert np.isnan(rows.loc[("removed", "follows_truth"), "value"])


def test_a_summary_that_failed_is_unscored_in_each_mean() -> None:
    scores, truth = scores_of(lambda recall, precision: recall, ("removed",))
    written = scores[scores["system"] == UNDAMAGED].assign(system="writer, referral, 60 words")
    lost = pd.concat([scores, written])[lambda table: table["document"] != "0"]
    rows = pd.DataFrame(metrics._means(lost, truth, 12)).query("metric == 'claim_recall'").set_index("system")
    assert rows["unscored"][["writer, referral, 60 words", UNDAMAGED]].tolist() == [1, 1]
    assert rows["n"][["writer, referral, 60 words", UNDAMAGED]].tolist() == [11, 11]


def test_errors_fall_with_precision_and_are_not_tested_on_removals() -> None:
    errors = slopes(lambda recall, precision: 1 - precision, "true_errors")
    assert errors.loc[("contradicted", "slope"), "value"] == pytest.approx(1)
    assert errors.loc[("invented", "follows_truth"), "value"] == 1
    assert ("removed", "follows_truth") not in errors.index


@pytest.fixture(scope="module")
def judged() -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Judgements of the first patients' summaries, and their tables; system "plain" does not cite."""
    frames = {name: table.query("patient < 2") for name, table in histories().items() if name != "questions"}
    frames["questions"], written = histories()["questions"], frames["history_summaries"]
    short = written.query("purpose == 'referral' and words == 60")
    plain = short.assign(system="plain", text=short["text"].map(without_citations))
    summaries = frames["history_summaries"] = pd.concat([written, plain], ignore_index=True)
    params = load_params()
    with in_domain("respiratory"):
        documents, truth, _ = summary_documents(frames, WORDER, [0, 2, 4], 7)
        citing = set(names_of(summaries[~not_citing(summaries)]))
        citing = tuple(name for name in system_names(documents) if name in citing)
        work = partial(judge_summaries, Plan(citing=citing, glossary=WORDER.rules.glossary))
        asks = {role: DirectAsk(f"vignette-{role}") for role in ("judge", "answerer", "annotator")}
        made = asyncio.run(work({"documents": documents_table(documents)}, asks.__getitem__, params))
    assert [one.claims[WHOLE] for one in documents if one.claims]
    made["recalled"] = with_truth(made["recalled"], truth, frames["history_facts"])
    return made, frames | {"truth": truth}


def test_a_system_that_never_cites_is_named_and_has_no_citation_scores(judged) -> None:
    (made, frames), about = judged, {"patients": 2, "seed": 7, "provenance": "test"}
    summaries: pd.DataFrame = frames["history_summaries"]
    rows = metrics.metric_rows(made, frames["truth"], summaries, load_params(), **about).set_index(["system", "metric"])
    own = rows.loc["plain, referral, 60 words"]
    assert not {"citation_recall", "citation_precision"} & set(own.index) and own.loc["claim_precision", "n"] == 2
    assert own.loc["summaries_not_citing", ["value", "n"]].tolist() == [2, 2]
    assert not [system for system, metric in rows.index if metric == "summaries_not_citing" and "writer" in system]
    silent = summaries.query("system == 'writer'").assign(text="No fever.")
    assert not metrics.not_citing(silent).any(), "the writer is asked for citations"


def test_a_false_denial_contradicts_the_record_and_a_lasting_one_is_supported() -> None:
    row = random_visits("respiratory", 1, most=1).to_dict("records")[0] | {"smoking": "no", "antibiotics": "no"}
    course = [("yes", "none"), ("yes", "high"), ("no", "none")]
    visits = pd.DataFrame(
        [
            {**row, "record": n, "visit": n + 1, "day": 10 * n, "cough": cough, "fever": fever}
            for n, (cough, fever) in enumerate(course)
        ]
    )
    first, second = (date_of(int(row["patient"]), 10 * n) for n in range(2))
    denials = {
        "The patient does not smoke.": "supported",
        f"No cough on {first}.": "contradicted",
        f"No fever on {second}.": "contradicted",
    }
    notes = pd.DataFrame({"record": range(3), "patient": row["patient"], "visit": [1, 2, 3], "text": "A note."})
    summary = {"patient": row["patient"], "system": "writer", "purpose": "referral", "words": 60}
    frames = {
        "visits": visits,
        "visit_notes": notes,
        "history_facts": history_facts(visits, WORDER),
        "history_summaries": pd.DataFrame([{**summary, "text": " ".join(denials)}]),
        "questions": summary_questions(visits, WORDER),
    }
    with in_domain("respiratory"):
        (document,), _, _ = summary_documents(frames, WORDER, [0], 7)
        asked = Question("q", str(document.reference), tuple(denials))
        (found,) = asyncio.run(ground(DirectAsk("vignette-judge"), [asked]))
    assert dict(zip(denials, (word for *_, word in found.units), strict=True)) == denials
