"""Cases and their variants, the figures of a card by hand."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

from flows.evaluation.audit import Audit, answers_of, cases_of, make_audit
from flows.evaluation.cards import other_kind
from flows.repository.params import load_params
from schemas.tables.evaluate import CASES
from tasks.audit.card import CHANGE_NAMES, card_table, findings, weak_kinds
from tasks.audit.cases import (
    AGAIN,
    ALONE,
    CONFIDENT,
    CROWDED,
    FACTORS,
    FAMILY,
    FILLER,
    HIDDEN,
    LONGER,
    MANY,
    NAMES,
    REVERSED,
    TOGETHER,
    WORDY,
    _shuffled,
)
from tasks.audit.comparisons import MET, MISSED, OPEN, requirements, weaker_kinds
from tasks.audit.correction import corrected_rows, label_half_width, label_plans
from tasks.audit.page import rate_tables
from tasks.statistics.metric_rows import mean_row, metric_table
from tasks.statistics.sign_flips import flip_p, holm
from tests.support.card_verdicts import card_verdicts
from tests.support.counts import check_counts
from tests.support.params import shipped
from tests.support.scripted import DirectAsk, ScriptedAsk

SEED = 3


@pytest.fixture(scope="module")
def small() -> Audit:
    """The audit of a few notes of the simulator."""
    return make_audit(None, load_params().model_copy(update={"seed": SEED}), cases=20)


@pytest.fixture(scope="module")
def texts(small: Audit) -> dict[str, str]:
    return dict(small.texts)


@pytest.fixture(scope="module")
def cases(texts: dict[str, str]) -> pd.DataFrame:
    return CASES.validate(cases_of(texts, load_params().model_copy(update={"seed": SEED}), cases=40, varied=40))


def test_variants_have_the_truth_of_their_case_and_differ_in_one_thing(cases: pd.DataFrame) -> None:
    own = cases[cases["metric"] != FILLER]
    plain = own[own["condition"] == ""].set_index("unit")
    assert len(plain) == 40 and plain["truth"].mean() == 0.5
    varied = plain.groupby("premise").size().clip(upper=TOGETHER).sum()
    assert varied >= 32
    for factor, rows in own[own["condition"] != ""].groupby("condition"):
        both = rows.set_index("unit").join(plain, rsuffix="_plain")
        assert both.index.is_unique and len(both) == varied and (both["truth"] == both["truth_plain"]).all()
        assert (both["text"] == both["text_plain"]).all() == (factor not in (CONFIDENT, WORDY, *FAMILY))
        same_text = factor in (ALONE, CROWDED, REVERSED, CONFIDENT, WORDY, *FAMILY)
        assert (both["premise"] == both["premise_plain"]).all() == same_text
    assert set(own["condition"]) == {"", *FACTORS}
    lengths = own.groupby("condition")["premise"].apply(lambda texts: texts.str.len().mean())
    for factor, times in LONGER.items():
        assert lengths[factor] / lengths[""] == pytest.approx(times, rel=0.1)


def test_a_patient_with_a_name_is_called_by_it_unless_the_text_names_a_sex(cases: pd.DataFrame) -> None:
    for factor, said in zip(NAMES, ("female", "male"), strict=True):
        texts = cases.loc[cases["condition"] == factor, "premise"]
        assert len(texts) and texts.str.fullmatch(rf"Patient: M[rs]+ \w+ \w+, {said}\n\n.*", flags=re.S).all()
        assert not texts.str.contains(r"\b[Tt]he patient\b").any()
    made = cases_of(
        {"a": "He has had a dry cough for three days. No fever was noted."}, load_params(), cases=4, varied=4
    )
    assert set(made["condition"]) >= set(FAMILY) and not set(made["condition"]) & set(NAMES)


def test_sentences_are_shuffled_within_their_paragraph_but_for_headings_and_items() -> None:
    text = "# Plan. Rest.\nNo fever. Dry cough.\nA fall. He limps.\n- Tea. Honey."
    found = {_shuffled(text, np.random.default_rng(seed)) for seed in range(20)}
    assert found == {text, text.replace("No fever. Dry cough.", "Dry cough. No fever.")}


def test_a_kind_that_is_judged_worse_than_the_others_is_named() -> None:
    """Of 40 cases of a kind 20 are wrong, of 160 others 16: P(20 or more of 36 wrong ones) is far below 1%."""
    rows = [(f"c{n}", "", f"d{n}", False, n % 2 == 0 if n < 40 else n % 10 == 0) for n in range(200)]
    table = verdicts(*rows).assign(kind=["weak" if n < 40 else "strong" for n in range(200)])
    found = weaker_kinds(table).set_index("kind")
    exact = float(hypergeom.sf(19, 200, 36, 40))
    assert found.loc["weak", "p"] == pytest.approx(2 * exact) and found.loc["strong", "p"] > 0.99
    assert weak_kinds(card_table(table, seed=1)) == [
        "j: claims: weak is judged rightly in 50.0% (n 40), other kinds with the same answer in 90.0% (n 160)"
    ]
    failed = table.assign(value=table["value"].mask(table["kind"].eq("weak") & table["value"].eq(1)))
    assert weaker_kinds(failed).set_index("kind").loc["weak", "p"] == 1.0, "failures may all have been right"
    assert weaker_kinds(table[table["kind"] == "weak"]).empty


def test_calls_are_as_large_as_their_factor_says(cases: pd.DataFrame) -> None:
    sizes = cases.groupby(["condition", "call"]).size()
    assert sizes[ALONE].max() == 1 and sizes[CROWDED].max() == MANY and sizes[""].max() <= 5
    first, last = (cases[cases["condition"] == factor].groupby("unit", sort=False).head(1) for factor in ("", REVERSED))
    assert first["unit"].tolist() != last["unit"].tolist()
    assert set(cases.loc[cases["metric"] == FILLER, "condition"]) == {CROWDED}


def verdicts(*rows: tuple[str, str, str, bool, bool | None], judge: str = "j") -> pd.DataFrame:
    known = {"judge": judge, "task": "claims", "kind": "k", "text": "t", "place": 0}
    columns = ("case", "factor", "document", "truth", "judged")
    return card_verdicts([{**known, **dict(zip(columns, row, strict=True))} for row in rows])


def test_rates_count_failures_apart() -> None:
    """Three yes, of which two are seen and one failed; two no, of which one is seen."""
    answers = [(True, True), (True, True), (True, None), (False, False), (False, True)]
    card = card_table(verdicts(*((f"c{n}", "", f"d{n}", *one) for n, one in enumerate(answers))), seed=1)
    by = card.set_index("metric")
    assert (by.loc["sensitivity", "value"], by.loc["sensitivity", "n"], by.loc["sensitivity", "unscored"]) == (
        1.0,
        2,
        1,
    )
    assert (by.loc["specificity", "value"], by.loc["balanced_accuracy", "value"]) == (0.5, 0.75)


def test_rates_that_happen_to_vary_against_each_other_in_few_texts_tell_nothing() -> None:
    """In five texts as many errors of one rate as the other has right: the mean does not vary between texts."""
    seen, rejected = (True, False, True, False, True), (False, True, False, True, False)
    answers = [(f"d{n}", True, judged) for n, judged in enumerate(seen)]
    answers += [(f"d{n}", False, not right) for n, right in enumerate(rejected)]
    card = card_table(verdicts(*((f"c{n}", "", *one) for n, one in enumerate(answers))), seed=1)
    row = card.set_index("metric").loc["balanced_accuracy"]
    assert row["value"] == 0.5 and row["low"] < 0.3 and row["high"] > 0.7


def test_missing_verdicts_are_counted_in_every_row_of_a_card() -> None:
    factors = ("", HIDDEN[0], f"{AGAIN}, take 2")
    table = verdicts(*((f"c{n}", factor, f"d{n}", n % 2 == 0, n % 7 > 0) for factor in factors for n in range(40)))
    of_cases = "~metric.str.endswith('_texts')"
    check_counts(lambda own: card_table(own, seed=1).query(of_cases), table, "value")
    kinds = table.assign(kind=np.where(np.arange(len(table)) % 4 < 2, "a", "b"))
    check_counts(weaker_kinds, kinds, "value")
    others = ["task", "kind", "others_n", "others_unscored"]
    names = {"others_n": "n", "others_unscored": "unscored"}
    check_counts(lambda own: weaker_kinds(own)[others].rename(columns=names), kinds, "value")


def test_a_judge_that_obeys_is_found_and_named() -> None:
    rows = [(f"c{n}", "", f"d{n}", n % 2 == 0, n % 2 == 0) for n in range(40)]
    obeyed = [(f"c{n}", HIDDEN[0], f"d{n}", n % 2 == 0, True) for n in range(40)]
    unmoved = [(f"c{n}", CONFIDENT, f"d{n}", n % 2 == 0, n % 2 == 0) for n in range(40)]
    card = card_table(verdicts(*rows, *obeyed, *unmoved), seed=1)
    (line,) = findings(card)
    said, _, of = line.partition(" (")
    assert said == "j: instruction to answer yes costs 50.0 points of right answers and changes 50.0% of verdicts"
    assert of == "n 40, 40 texts)"
    required = {"injection": 0.6, "specificity": 0.8, "length": 0.1}
    (state, line), met, unknown = requirements(card, required, CHANGE_NAMES)
    assert state == OPEN and re.fullmatch(r"j, .*: injection 0\.500 \(0\.3.. to 0\.6..\), n 40; at most 0\.6", line)
    assert met[0] == MET and unknown == (MISSED, "length: not measured")
    assert [requirements(card, {"injection": most}, CHANGE_NAMES)[0][0] for most in (0.2, 0.8)] == [MISSED, MET]


def test_a_requirement_is_met_or_missed_by_the_whole_interval() -> None:
    """Of cards of 60 true cases, a true sensitivity of .85 has a value of .9 or more in 18%, of .95 below .9 in 8%."""

    def states(rate: float, n: int, runs: int) -> list[str]:
        hits = np.random.default_rng(1).binomial(n, rate, runs)
        rows = [
            mean_row("sensitivity", np.arange(n) < hit, condition=str(run), item="all", system="j", provenance="j")
            for run, hit in enumerate(hits)
        ]
        return [state for state, _ in requirements(metric_table(rows, stage="audit"), {"sensitivity": 0.9}, {})]

    for rate, wrong in ((0.85, MET), (0.9, MET), (0.9, MISSED), (0.95, MISSED)):
        assert np.mean([state == wrong for state in states(rate, 60, 400)]) <= 0.04
    assert states(0.97, 600, 50).count(MET) > 45 and states(0.8, 600, 50).count(MISSED) > 45


def test_answers_that_change_when_asked_again_are_counted_by_pairs_of_takes() -> None:
    """Of three takes, one differs: two of three pairs. 30 of 60 cases are such, one more failed in a take."""
    rows = [(f"c{n:02d}", "", f"d{n}", True, True) for n in range(61)]
    second = [(f"c{n:02d}", f"{AGAIN}, take 2", f"d{n}", True, None if n == 60 else n >= 30) for n in range(61)]
    third = [(f"c{n:02d}", f"{AGAIN}, take 3", f"d{n}", True, True) for n in range(61)]
    card = card_table(verdicts(*rows, *second, *third), seed=1)
    (row,) = card[card["metric"] == "changed_when_asked_again"].to_dict("records")
    assert row["value"] == pytest.approx(30 / 60 * 2 / 3) and (row["n"], row["unscored"]) == (60, 1)
    assert row["condition"] == "claims, 3 takes" and not card["condition"].str.contains(": ").any()
    assert findings(card) == ["j: 33.3% of answers change when the same is asked again (n 60)"]
    shown = {one.value: one.small for table in rate_tables(card) for row in table.rows for one in row if one}
    assert (shown["33.3%"], shown["100%"]) == (("60 texts",), ("61 texts",)), "each has texts of its own"


def test_a_judge_that_prefers_the_first_claim_is_found_though_no_answer_is_lost() -> None:
    """Calls of two claims, yes to the first and no to the second, in both orders."""

    def both(factor: str, places: tuple[int, int]) -> list[dict[str, object]]:
        return [
            {"judge": "j", "case": f"c{call}{n}", "task": "claims", "kind": "k", "factor": factor, "text": "t",
             "document": f"d{call}", "place": place, "truth": n == 0, "judged": place == 0}
            for call in range(12) for n, place in enumerate(places)
        ]  # fmt: skip

    card = card_table(card_verdicts(both("", (0, 1)) + both(REVERSED, (1, 0))), seed=1)
    by = card.set_index(["condition", "metric"])["value"]
    assert by["claims: earlier in the call", "gain_of_yes"] == 1.0
    assert by["claims: claims in reverse", "loss_of_accuracy"] == 1.0, "all were right in the first order"
    line = "j: a claim that stands earlier in its call is accepted more often, by 100.0 points (n 24, 12 texts)"
    assert line in findings(card)


def test_scores_are_corrected_by_the_rates_of_the_card() -> None:
    """A judge with sensitivity 0.9 and specificity 0.8 gives 0.62 where 0.6 hold: (0.62 + 0.8 - 1) / 0.7."""
    rows = [(f"y{n}", "", f"d{n}", True, n >= 10) for n in range(100)] + [
        (f"n{n}", "", f"d{n}", False, n < 20) for n in range(100)
    ]
    keys = {"stage": "doclens", "system": "s", "condition": "json_cot", "item": "all"}
    scores = pd.DataFrame(
        [{**keys, "metric": "claim_recall", "value": v} for v in [0.62] * 20]
        + [{**keys, "metric": "citation_recall", "value": 1.0}, {**keys, "metric": "words", "value": 7.0}]
    )
    metrics = pd.DataFrame([{**keys, "metric": "claim_recall", "unscored": 3}])
    card = pd.concat([verdicts(*rows), verdicts(*rows).assign(metric="grounding")], ignore_index=True)
    table, refused = corrected_rows(scores, metrics, card, seed=1, provenance="card")
    by = table.set_index("item")
    assert by.loc["all", "value"] == pytest.approx(0.6) and (by.loc["all", "n"], by.loc["all", "unscored"]) == (20, 3)
    assert by.loc["all", "low"] < 0.6 < by.loc["all", "high"]
    wide = by.loc["all, rates off by 0.1"]
    assert wide["low"] < by.loc["all", "low"] and wide["high"] > by.loc["all", "high"]
    assert refused == [
        "citation_recall is not corrected: the card has verdicts on 0 cases with the answer yes and 0 with no"
    ]
    why = "the sources are dialogues"
    supported = pd.DataFrame([{**keys, "metric": "claims_supported", "value": 0.9}] * 20)
    of_dialogues, said = corrected_rows(supported, metrics, card, seed=1, provenance="card", other_sources=why)
    assert of_dialogues.empty and said == [f"claims_supported is not corrected: {why}"]
    assert len(corrected_rows(supported, metrics, card, seed=1, provenance="card")[0])
    says_yes = [(name, factor, document, truth, True) for name, factor, document, truth, _ in rows]
    none, why = corrected_rows(scores[:20], metrics, verdicts(*says_yes), seed=1, provenance="card")
    assert none.empty and "sensitivity + specificity is 1.00" in why[0]


def test_a_card_of_notes_says_nothing_of_dialogues(tmp_path: Path) -> None:
    note, dialogue = "The patient coughs. There is no fever.", "Doctor: Any fever?\nPatient: No, I only cough."
    assert other_kind(tmp_path, [dialogue]) is None, "a card that does not say what its texts are"
    (tmp_path / "card.json").write_text('{"kind_of_texts": "notes"}')
    assert other_kind(tmp_path, [note, dialogue]) is None
    assert other_kind(tmp_path, [dialogue]) == "the card's cases are of notes, and the sources are dialogues"


def test_a_corrected_score_has_its_range_over_mixes_of_kinds_which_holds_the_truth_of_texts_of_one_kind() -> None:
    """The judge finds .95 of one kind of true claims and .75 of another; 80% of the claims hold, all of the first kind.

    The interval for kinds mixed as on the card holds the truth in none of these studies.
    """
    held = []
    for seed in range(4):
        draw = np.random.default_rng(seed)
        rates = [(True, "a", 0.95), (True, "b", 0.75), (False, "c", 0.1)]
        cases = [(truth, kind, draw.random() < rate) for truth, kind, rate in rates for _ in range(150)]
        card = verdicts(*((f"c{n}", "", f"d{n}", truth, said) for n, (truth, _, said) in enumerate(cases)))
        keys = {"stage": "s", "system": "s", "condition": "c", "item": "all", "metric": "claim_recall"}
        values = draw.binomial(10, 0.8 * 0.95 + 0.2 * 0.1, 100) / 10
        scores = pd.DataFrame({**keys, "value": values})
        metrics, kinds = pd.DataFrame([{**keys, "unscored": 0}]), [kind for _, kind, _ in cases]
        table, refused = corrected_rows(scores, metrics, card.assign(kind=kinds), seed=1, provenance="card")
        rows = table.set_index("item").loc[["all", "all, any mix of kinds"]]
        held.append(((rows["low"] <= 0.8) & (rows["high"] >= 0.8)).tolist())
        assert refused == [] and (table["high"] - table["low"]).max() <= 1
    assert np.mean(held, axis=0).tolist() == [0, 1]
    for size in (29, 30):  # of a kind that the judge never finds, which fewer cases do not show
        unfound = pd.Series(range(len(kinds))).between(150, 149 + size)
        blind = card.assign(kind=pd.Series(kinds).mask(unfound, "unfound"), value=card["value"].mask(unfound, 0.0))
        table, why = corrected_rows(scores, metrics, blind, seed=1, provenance="card")
        assert table.empty is (size == 30) and len(why) == table.empty
    assert why[0].endswith("its interval is wider than 1 for some mix of the card's kinds of cases")


def test_answers_have_the_records_truth_and_every_wording_of_a_question_is_one_cluster(small: Audit) -> None:
    params, audit = load_params(), replace(small, tasks=["answers"], size=0.2)
    always = ScriptedAsk(lambda _: "Yes")
    for ask in (DirectAsk("vignette-judge"), always):
        rows = pd.DataFrame(asyncio.run(answers_of(audit, params, ask, ask)))
        truth, judged = rows["truth"].to_numpy(bool), rows["value"].to_numpy(bool)
        usual = rows["kind"] != "free text: two answers"  # which the rules take for the one that they find
        right = (truth == judged)[usual].mean()
        assert right == truth[usual].mean() if ask is always else 0.75 < right <= 1
    assert rows["document"].nunique() == 6 and rows["unit"].is_unique
    parts = rows[rows["kind"] == "free text: right in part"]
    assert len(parts) and not parts["truth"].any()
    refusals = rows[rows["kind"].str.endswith("refusal")]
    assert len(refusals) and not refusals["truth"].any()
    other = rows[rows["kind"] == "free text: right, other words"]
    assert len(other) == 6 and other["truth"].all()


def test_labels_are_planned_with_the_estimator_that_they_are_evaluated_with() -> None:
    """By the normal formula 42 labels reach 3 points with a judge of 99%; the estimator has 6.5."""
    assert label_half_width((0.99, 0.99), 0.8, 1000, 42, seed=1) == pytest.approx(0.065, abs=0.005)
    card = card_table(verdicts(*((f"c{n}", "", f"d{n}", n % 2 == 0, n % 2 == 0) for n in range(200))), seed=1)
    lines = label_plans(card, 60, seed=1)
    assert "50% yes: 25 labels" in lines[1] and "50 labels" in lines[1] and "100 labels" not in lines[1]
    assert any(line.startswith("j, claims (100 and 100 cases), 80% yes: 25 labels") for line in lines)
    silent = card_table(verdicts(*((f"c{n}", "", f"d{n}", n % 2 == 0, None) for n in range(20))), seed=1)
    assert label_plans(silent, 25, seed=1)[-1].startswith("j, claims: saves no label")


def test_p_values_by_hand() -> None:
    """Five documents that all lose: two of 32 sign patterns are as extreme."""
    assert flip_p(np.ones(5), np.arange(5)) == 2 / 32
    assert flip_p(np.ones(5), np.arange(5), one_sided=True) == 1 / 32
    assert flip_p(-np.ones(5), np.arange(5), one_sided=True) == 1.0, "a gain is no loss"
    assert flip_p(np.ones(5), np.zeros(5)) == 1.0, "one cluster tells nothing"
    assert flip_p([2, 1, -1], [0, 1, 2]) == 6 / 8, "sums 2, 1 and -1: 2 is reached by all but two of eight patterns"
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])


def test_requests_do_not_name_the_case_its_document_or_the_change(small: Audit) -> None:
    ask = ScriptedAsk(lambda _: ValueError("no reply is needed"))
    cases = pd.DataFrame(asyncio.run(answers_of(small, load_params(), ask, ask)))
    said = "\n".join({message.content for call in ask.calls for message in call.messages})
    names = {*cases["id"], *cases["unit"], *cases["call"], *FACTORS} | {call.key for call in ask.calls}
    assert len(ask.calls) > 80 and not [
        name for name in names if name in said and re.search(rf"\b{re.escape(name)}(?!\w)", said)
    ]


def test_the_calls_of_a_card_keep_the_limit_of_claims(small: Audit) -> None:
    params = shipped(doclens={"claims_a_call": 3})
    ask = DirectAsk("vignette-judge")
    audit = replace(small, tasks=["claims", "grounding"])
    rows = asyncio.run(answers_of(audit, params, ask, ask))
    held = [len(re.findall(r"^\d+\. ", call.messages[-1].content.split("<claims>")[1], re.M)) for call in ask.calls]
    assert max(held) == 3 and all(row["value"] is not None for row in rows)
