"""MED-OMIT's cases: facts that are gone from a text or not, and scores corrected by the judge's rates on them."""

import asyncio

import pandas as pd

from flows.repository.params import load_params
from tasks.domains.rules import rules_of
from tasks.judges.cases import Row, planted_table
from tasks.judges.rates import corrected_rows
from tasks.judges.shortening import BY_WRITER, Shortened, compactions
from tasks.judges.simulated_notes import gold_tables, write_gold
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask
from tasks.measures.measure import scores_and_ceilings
from tasks.measures.med_omit.judging import OMISSIONS
from tasks.measures.med_omit.planted import CASES, judge_omissions
from tasks.measures.med_omit.replies import IncludedFact, Omissions
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tests.support.fact_verdicts import facts_judged
from tests.support.records import NETWORK
from tests.support.scripted import DirectAsk, ScriptedAsk

PARAMS = load_params()


def judged(ask: Ask, planted: list[Shortened]) -> tuple[list[Row], Unscored]:
    return asyncio.run(judge_omissions(ask, planted, PARAMS))


def test_corrected_omissions_agree_with_what_the_writer_left_out() -> None:
    prompts = build_prompts(sample(NETWORK, 40, 7), NETWORK, rules_of("respiratory"), 7)
    written = gold_tables(write_gold(prompts))[0]
    notes = dict(zip(written["record"].astype(str), written["note"], strict=True))

    def verdicts(seed: int) -> pd.DataFrame:
        made = [one for *_, one in compactions(notes, prompts, rounds=1, seed=seed) if one is not None]
        return planted_table(judged(DirectAsk(), made)[0], "rules")

    target, planted = verdicts(1), verdicts(7)
    by_text = target.groupby("document")[["value", "truth"]].mean()
    keys = {"system": "compact notes", "condition": "judge", "item": "all", "metric": "omission_share", "ceiling": 1.0}
    scores, corrected = by_text.reset_index().assign(**keys), CASES[0].corrected
    assert corrected is not None
    rows = corrected_rows(scores, planted, pd.Series(dtype="int64"), corrected.matched, seed=1, provenance="p")
    found = rows[rows["item"] == "all"].set_index("metric")
    assert found.loc["omission_share_corrected", "low"] < by_text["truth"].mean()
    assert found.loc["omission_share_corrected", "high"] > by_text["truth"].mean()
    assert found.loc["omission_share_corrected_possible", "value"] == 1
    rightly = planted["value"].eq(planted["truth"]).groupby(planted["kind"]).mean()
    assert (rightly[list(BY_WRITER)] >= [0.6, 0.8]).all()


def test_a_fact_that_the_judge_skips_is_neither_kept_nor_left_out() -> None:
    planted = [Shortened("1", ("He coughs.", "He smokes.", "He sneezes."), frozenset({1}), "He coughs.")]
    verdicts = Omissions(facts=[IncludedFact(fact=name, included="no") for name in ("F1", "F2")])
    rows, unscored = judged(ScriptedAsk(lambda _: verdicts), planted)
    assert [row["value"] for row in rows] == [None, 1, 1]
    (row,) = unscored
    assert (row["step"], row["reason"]) == ("planted omissions", "1 of 3 facts without a verdict")


def test_omission_scores_have_their_maximum_as_ceiling() -> None:
    facts = [("1", "F0", 1.0, True), ("1", "F1", 0.5, False), ("2", "F0", None, False)]
    judged = facts_judged(
        {"document": document, "fact": fact, "weight": weight, "omitted": {"s": gone}}
        for document, fact, weight, gone in facts
    )
    found = scores_and_ceilings(judged, OMISSIONS).set_index(["metric", "document"])
    assert found.loc[("omission_share", "1"), ["value", "ceiling"]].tolist() == [0.5, 1.0]
    assert found.loc[("omission_count", "1"), ["value", "ceiling"]].tolist() == [1.0, 2.0]
    assert found.loc[("omission_weight", "1"), ["value", "ceiling"]].tolist() == [1.0, 1.5]
    assert ("omission_weight", "2") not in found.index  # a fact without a grade
