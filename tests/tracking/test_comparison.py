"""Comparisons of lineages: arithmetic by hand and by textbooks, pairing, failed records, false alarms and power."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from tasks.tracking.comparison import compare_all, compare_metrics, compare_systems
from tasks.tracking.measures import Measure, prediction_measures, question_contents, score_measures, unscored_records
from tasks.tracking.pairing import PairedMeasure, contributions, differences_of, pair, pair_or_split
from tests.support.cases import each
from tests.support.null_pairs import compare, null_pairs
from tests.support.report_page import metric_table


def predictions(label: list[str], predicted: list[str], symptom: str = "cough", seed: int = 0) -> pd.DataFrame:
    table = pd.DataFrame({"record": range(len(label)), "label": label, "predicted": predicted})
    return table.assign(system="neural-text", condition="normal", symptom=symptom, seed=seed)


def test_f1_of_a_binary_symptom_by_hand() -> None:
    table = predictions(["yes", "yes", "yes", "no"], ["yes", "yes", "no", "yes"])
    (measure,) = prediction_measures(table, "baseline").values()
    assert measure.value() == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))  # 2 hits, 1 wrong, 1 missed


def test_f1_of_fever_is_macro_over_its_values() -> None:
    table = predictions(["none", "low", "high", "high"], ["none", "high", "high", "high"], symptom="fever")
    (measure,) = prediction_measures(table, "baseline").values()
    assert measure.value() == pytest.approx((1 + 0 + 4 / 5) / 3)


def test_f1_of_a_symptom_that_nobody_has_and_nothing_predicts_is_0_where_no_other_symptom_is_had_either() -> None:
    (measure,) = prediction_measures(predictions(["no", "no"], ["no", "no"]), "baseline").values()
    assert (measure.classes, measure.value()) == (("yes",), 0)


def scored(values: dict[int, float], failed: list[int] | None = None, *, metric: str = "m") -> Measure:
    """A mean of scores, by record id; those of "m" lie between 0 and 1."""
    table = pd.DataFrame({"record": list(values), "value": list(values.values())})
    table = table.assign(system="s", condition="c", item="all", metric=metric)
    ids = None if failed is None else np.array(failed, dtype=np.int64)
    (measure,) = score_measures(table, "doclens", failed=ids).values()
    return replace(measure, own_bounds=(0.0, 1.0))


def answered(
    record_items: dict[int, list[str]], contents: dict[str, str] | None = None, values: float | list[float] = 1.0
) -> Measure:
    """Scores of questions of single records."""
    rows = [(record, "s", "c", item, "score") for record, items in record_items.items() for item in items]
    table = pd.DataFrame(rows, columns=["record", "system", "condition", "item", "metric"]).assign(value=values)
    (measure,) = score_measures(table, "note_qa", contents=contents).values()
    return measure


def test_contributions_to_f1_differ_in_proportion_to_the_difference_in_f1() -> None:
    label = ["yes", "yes", "no", "no", "yes", "no"]
    (a,) = prediction_measures(predictions(label, ["yes", "yes", "yes", "no", "no", "no"]), "baseline").values()
    (b,) = prediction_measures(predictions(label, ["yes", "no", "yes", "yes", "no", "no"]), "baseline").values()
    one, other = contributions(a, b)
    denominators = np.array([2 * 2 + 1 + 1, 2 * 1 + 2 + 2])
    factor = denominators.prod() / denominators.mean() ** 2
    assert other.mean() - one.mean() == pytest.approx(factor * (b.value() - a.value()))


def test_records_are_paired_by_id_in_any_order_and_those_of_one_lineage_are_no_failures() -> None:
    paired = pair(scored({3: 0.3, 1: 0.1, 2: 0.2, 0: 0.0}, []), scored({1: 0.1, 2: 0.2, 3: 0.3, 4: 9.0}, []))
    assert paired.a.records.tolist() == [1, 2, 3]
    assert (paired.unpaired, len(paired.failed_a), len(paired.failed_b)) == (2, 0, 0)
    assert paired.a.value() == pytest.approx(0.2) == paired.b.value()


def test_equal_lineages_do_not_differ_and_one_training_seed_gives_a_warning() -> None:
    (measure,) = prediction_measures(predictions(["yes", "no"] * 50, ["yes", "yes"] * 50), "baseline").values()
    row = compare([pair(measure, measure)], seed=0).iloc[0]
    assert (row["difference"], row["p"], row["changed"]) == (0, 1, False)
    assert row["note"].startswith("one training seed")
    assert compare([pair(scored({1: 0.5}), scored({1: 0.5}))], seed=0)["note"].item() == ""


def test_three_questions_against_four_are_not_comparable() -> None:
    records = range(20)
    three = answered({r: [f"{r}/1", f"{r}/2", f"{r}/3"] for r in records})
    four = answered({r: [f"{r}/1", f"{r}/2", f"{r}/3", f"{r}/4"] for r in records})
    row = compare([pair(three, four)], seed=0).iloc[0]
    assert (row["n"], row["changed"]) == (0, False)
    assert row["note"] == "not comparable: what is scored differs in 20 records"


def test_questions_match_by_content_and_not_by_position() -> None:
    columns = ["question", "wording", "choices", "answer"]
    first = pd.DataFrame([("1/1", "Cough?", "[]", "A"), ("1/2", "Fever?", "[]", "B")], columns=columns)
    swapped = first.assign(question=["1/2", "1/1"])
    other = first.assign(wording=["Cough?", "Pain?"])
    items = {1: ["1/1", "1/2"], 2: ["2/1"]}
    measures = [answered(items, question_contents(table)) for table in (first, swapped, other)]
    assert pair(measures[0], measures[1]).unmatched == 0
    assert pair(measures[0], measures[2]).unmatched == 1


def test_failing_on_the_ten_hardest_of_200_records_is_a_change() -> None:
    draw = np.random.default_rng(3)
    easy = np.sort(draw.random(200))
    everything, without = dict(enumerate(easy)), dict(list(enumerate(easy))[10:])
    failed = list(range(10))
    others = null_pairs(draw, "normal", 200)
    for b in (scored(without), scored(without, failed)):
        table = compare([pair(scored(everything, None if b.failed is None else []), b), *others], seed=0)
        rate = table[table["metric"] == "unscored m"].iloc[0]
        assert rate["changed"], rate
        assert (rate["a"], rate["b"], rate["n"]) == (0, pytest.approx(0.05), 200)
        score = table[table["metric"] == "m"].iloc[0]
        assert (score["difference"], score["changed"], score["failed_b"]) == (0, False, 10)
        assert score["bound_low"] == pytest.approx(-easy[:10].sum() / 200)
        assert score["bound_high"] == pytest.approx((10 - easy[:10].sum()) / 200)


def test_a_failed_question_counts_as_a_failure_of_its_record() -> None:
    columns = ["record", "system", "condition", "item", "metric", "value"]
    asked = [(1, "p1/1"), (1, "p1/2"), (2, "p2/1"), (3, "p3/1")]
    first = pd.DataFrame([(record, "s", "c", item, "score", 1.0) for record, item in asked], columns=columns)
    second = first.drop(index=[1, 3])
    failed = unscored_records(["p1/2", "p3", "7"], first, second)
    (a,) = score_measures(first, "note_qa").values()
    (b,) = score_measures(second, "note_qa", failed=failed).values()
    assert failed.tolist() == [1, 3, 7]
    assert pair(a, b).failed_b.tolist() == [1, 3]


def test_f1_is_bounded_by_failed_predictions_being_right_or_wrong() -> None:
    label, guess = ["yes", "yes", "no", "yes"], ["yes", "no", "no", "yes"]
    (a,) = prediction_measures(predictions(label, guess), "baseline").values()
    (b,) = prediction_measures(predictions(label[:3], guess[:3]), "baseline", failed=np.array([3])).values()
    low, high = pair(a, b).bounds
    f1 = 2 * 2 / (2 * 2 + 1)  # of lineage A: 2 hits, 1 missed
    assert low == pytest.approx(2 * 1 / (2 * 1 + 2) - f1)
    assert high == pytest.approx(0)


def test_several_lineages_are_corrected_jointly() -> None:
    draw = np.random.default_rng(8)
    one = null_pairs(draw, "normal", 30, shift=0.75)
    alone = compare(one, seed=1)
    jointly = compare_all([one, *(null_pairs(draw, "normal", 30) for _ in range(5))], seed=1)
    assert (jointly[0]["p"] > alone["p"] - 0.005).all()
    assert 0 < jointly[0]["changed"].sum() < alone["changed"].sum()


def test_fewer_than_eight_records_are_shown_not_tested_and_two_have_an_interval_where_scores_have_bounds() -> None:
    def row(count: int, metric: str = "claim_recall") -> pd.Series:
        a, b = ({n: base + 0.01 * n * base for n in range(count)} for base in (0.5, 0.9))
        return compare([pair(scored(a, metric=metric), scored(b, metric=metric))], seed=0).iloc[0]

    assert row(8)["p"] < 0.05 and np.isnan(row(7)["p"]), "not tested"
    assert row(3)["difference"] == pytest.approx(0.404) and not row(3)["changed"]
    assert np.isfinite(row(2)["low"]) and np.isnan(row(1)["low"])
    assert np.isfinite(row(8, "words")["low"]) and np.isnan(row(7, "words")["low"])
    assert np.isfinite(row(8)["detectable"]) and np.isnan(row(7)["detectable"])


@each("n", [5, 20])
def test_scores_that_are_all_equal_have_an_interval_with_width(n: int) -> None:
    """Student's t had a width of 0, and "no change" would have found a change of 0."""
    same = scored(dict.fromkeys(range(n), 1.0), [], metric="claim_recall")
    row = compare([pair(same, same)], seed=0).iloc[0]
    assert row["low"] < -3 / n / 2 and row["high"] == pytest.approx(-row["low"])
    assert np.isnan(row["detectable"]) if n < 8 else row["detectable"] > 0.3


def test_records_that_neither_lineage_scored_are_counted_and_bounded() -> None:
    """Eight records that neither scored may turn a loss of a tenth around."""
    a, b = dict.fromkeys(range(80), 0.5), dict.fromkeys(range(80), 0.4)
    few, many = (range(100, 100 + size) for size in (2, 12))
    for failed, changed in ((few, True), (many, False)):
        table = compare([pair(scored(a, list(failed)), scored(b, list(failed)))], seed=0)
        row = table[table["metric"] == "m"].iloc[0]
        assert (row["failed_a"], row["failed_b"], row["failed_both"]) == (0, 0, len(failed))
        assert row["changed"] == changed and ("cannot be told" in row["note"]) != changed
        assert row["bound_low"] == pytest.approx((-8 - len(failed)) / (80 + len(failed)), abs=1e-6)


def test_scores_beyond_1_are_no_shares_whatever_their_metric_is_called() -> None:
    shares = {value: scored({0: 0.5, 1: value}, metric="claim_recall").is_share for value in (0.0, 1.0, 1.5, -0.5)}
    assert shares == {0.0: True, 1.0: True, 1.5: False, -0.5: False}
    assert not scored({0: 0.5}, metric="words").is_share


def test_a_failure_rate_counts_the_records_that_neither_lineage_scored_in_both() -> None:
    a, b = dict.fromkeys(range(80), 0.5), dict.fromkeys(range(78), 0.5)
    neither = list(range(100, 110))
    table = compare([pair(scored(a, neither), scored(b, [78, 79, *neither]))], seed=0)
    row = table[table["metric"] == "unscored m"].iloc[0]
    assert (row["n"], row["a"], row["b"]) == (90, 10 / 90, pytest.approx(12 / 90))


def split(a: np.ndarray, b: np.ndarray, item: str = "all") -> PairedMeasure:
    """Scores of other records in each lineage under the same ids, as after a change of the seed of sampling."""
    sides = (scored(dict(enumerate(values))) for values in (a, b))
    paired = pair_or_split(*sides, same=np.empty(0, dtype=np.int64))
    return PairedMeasure(*(replace(m, key=("s", "", "c", item, "m")) for m in (paired.a, paired.b)), independent=True)


def test_records_pair_only_where_their_content_agrees() -> None:
    a, b = scored(dict.fromkeys(range(40), 0.5), []), scored(dict.fromkeys(range(40), 0.75), [])
    nearly = pair_or_split(a, b, same=np.arange(38))
    assert not nearly.independent and (len(nearly.a.records), nearly.unpaired) == (38, 2)
    other = pair_or_split(a, b, same=np.arange(37))
    assert other.independent and (other.n, other.paired) == (40, 37)
    said = "37 of 40 and 40 records pair, 3 have other contents under the same id, and 0 are in one lineage only"
    assert compare([other], seed=0)["note"].item() == f"compared as independent samples: {said}"
    assert not pair_or_split(a, b).independent
    more = scored(dict.fromkeys(range(200), 0.5))
    assert not pair_or_split(more, b).independent, "b is a sample of these records"
    few = pair_or_split(more, b, same=np.arange(12))
    said = "12 of 200 and 40 records pair, 28 have other contents under the same id, and 160 are in one lineage only"
    assert few.n == 40 and said in compare([few], seed=0)["note"].item()
    lost = compare([pair_or_split(replace(more, failed=np.arange(200, 205)), b, same=np.arange(12))], seed=0)
    assert lost[["failed_a", "failed_b"]].to_numpy().tolist() == [[5, 0]]


def test_a_value_that_one_lineage_no_longer_has_differs() -> None:
    a, b = (
        metric_table({"metric": "claim_recall", "value": value}, {"metric": "f1", "value": np.nan})
        for value in (0.5, np.nan)
    )
    found = compare_metrics([(a, b)])
    assert found[["metric", "a"]].to_numpy().tolist() == [["claim_recall", 0.5]] and found["b"].isna().all()


def test_independent_samples_have_the_interval_and_nearly_the_p_of_welchs_test() -> None:
    draw = np.random.default_rng(4)
    a, b = draw.normal(size=150), 2 * draw.normal(size=60) + 0.3
    row, welch = compare([split(a, b)], seed=1, draws=20_000).iloc[0], ttest_ind(b, a, equal_var=False)
    interval = welch.confidence_interval()
    assert row["difference"] == pytest.approx(b.mean() - a.mean(), rel=1e-5)
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), abs=0.02)
    assert row["p"] == pytest.approx(welch.pvalue, abs=0.02) and row["n"] == 60


def test_a_change_that_holds_whatever_the_failed_records_scored_counts() -> None:
    draw = np.random.default_rng(3)
    a = {at: float(value) for at, value in enumerate(draw.random(100) / 2)}
    b = {at: value + 0.4 + 0.1 * draw.random() for at, value in a.items() if at}
    (row,) = compare([pair(scored(a, []), scored(b, [0]))], seed=1).query("metric == 'm'").to_dict("records")
    assert row["changed"] and row["failed_b"] == 1 and row["note"] == ""
    assert row["bound_low"] == pytest.approx((sum(b.values()) - sum(a.values())) / 100)


def test_a_missing_score_without_an_upper_bound_is_no_less_than_any_number() -> None:
    few, many = dict.fromkeys(range(20), 10.0), {at: 100.0 + at for at in range(20)}
    for metric, known in (("words", True), ("own", False)):
        whole = [replace(scored(one, [], metric=metric), own_bounds=None) for one in (few, many)]
        of_few, of_many = (replace(one.only(np.arange(19)), failed=np.array([19])) for one in whole)
        found = [compare([pair(*sides)], seed=1).iloc[0] for sides in ((of_few, whole[1]), (whole[0], of_many))]
        assert [row["p"] < 0.05 for row in found] == [True, True]
        assert [row["changed"] for row in found] == [False, known], "a count is 0 or more"
        assert [row["note"] == "" for row in found] == [False, known]
        assert found[0]["bound_low"] == -np.inf and np.isfinite(found[1]["bound_low"]) == known


def test_one_missing_score_does_not_hide_a_large_difference() -> None:
    """Recall of 78% against 12% on eleven documents, and one that the second system has no output for."""
    a = dict(enumerate((0.8, 0.9, 0.7, 0.8, 0.75, 0.85, 0.7, 0.8, 0.78, 0.72, 0.8, 0.76)))
    b = dict(enumerate((0.1, 0.2, 0.0, 0.1, 0.25, 0.15, 0.1, 0.1, 0.12, 0.08, 0.14)))
    (row,) = compare([pair(scored(a, []), scored(b, [11]))], seed=1).query("metric == 'm'").to_dict("records")
    assert row["p"] < 0.01 and row["n"] == 11 and row["difference"] == pytest.approx(-0.66) and not row["changed"]
    assert row["note"].startswith("beyond chance without the missing scores (n 1), and no longer with the worst")
    assert row["note"].endswith("between -0.668 and -0.585")


def test_the_detectable_difference_has_the_power_that_it_says() -> None:
    """The t quantiles of 2.09 and 0.86 with 19 degrees of freedom, times the standard error."""
    values = np.random.default_rng(4).random(20)
    found = compare([pair(scored(dict(enumerate(np.zeros(20)))), scored(dict(enumerate(values))))], seed=1).iloc[0]
    assert found["detectable"] == pytest.approx((2.093 + 0.861) * values.std(ddof=1) / np.sqrt(20), rel=1e-3)


def scores(values: np.ndarray) -> Measure:
    """A mean of scores (n, seeds)."""
    return Measure(("s", "a", "c", "all", "m"), np.arange(len(values)), values.astype(np.float32)[:, :, None, None])


def paired(a: np.ndarray, b: np.ndarray) -> PairedMeasure:
    return pair(scores(a), scores(b))


def test_seeds_of_both_lineages_add_the_variance_of_their_means() -> None:
    a, b = np.zeros((4, 2)), np.tile([0.0, 1.0, 2.0], (4, 1))
    found = differences_of(paired(a, b))
    assert found.values.tolist() == [1.0] * 4
    assert (found.added_variance, found.added_freedom) == pytest.approx(
        (1 / 3, 1 + 2)
    )  # of three seeds; a's do not vary
    both = differences_of(paired(b[:, :2], b))
    assert (both.added_variance, both.added_freedom) == pytest.approx((0.5 / 2 + 1 / 3, 1 + 2))


def test_redraws_add_twice_their_variance_with_satterthwaites_degrees_of_freedom() -> None:
    a = np.arange(8.0)[:, None]
    redraws = [scores(a + shift) for shift in (0.1, 0.3, 0.5)]
    found = differences_of(pair(scores(a), scores(a + 1), redraws))
    of_redraws = 2 * np.var([0.0, 0.1, 0.3, 0.5], ddof=1)  # the lineage itself is one of the draws
    assert (found.added_variance, found.added_freedom) == pytest.approx((of_redraws, 3), rel=1e-4)
    seeds = np.arange(8.0)[:, None] + [0.0, 1.0]
    both = differences_of(pair(scores(seeds), scores(seeds), redraws))
    of_seeds = 2 * 0.5 / 2
    assert both.added_variance == pytest.approx(of_redraws + of_seeds, rel=1e-4)
    expected = (of_redraws + of_seeds) ** 2 / (of_redraws**2 / 3 + of_seeds**2 / 2)
    assert both.added_freedom == pytest.approx(expected, rel=1e-4)


def test_noise_of_single_seeds_is_left_out_of_independent_samples_too() -> None:
    def share(a: np.ndarray, b: np.ndarray) -> float:
        return differences_of(PairedMeasure(scores(a), scores(b), independent=True)).share

    noise = np.random.default_rng(1).normal(size=(2, 40, 4))
    ids = differences_of(PairedMeasure(scores(noise[0]), scores(noise[1]), independent=True)).records
    assert len({*ids, *differences_of(paired(*noise)).records}) == 3 * 40, "signs of their own, also beside pairs"
    records = np.tile(np.arange(40.0)[:, None], 4)
    assert share(*noise) < 0.2
    assert share(records + noise[0] / 100, records + noise[1] / 100) == pytest.approx(1, abs=1e-3)
    assert share(np.ones((5, 2)), np.zeros((6, 2))) == 1, "where nothing varies"


def test_every_two_systems_with_scores_are_compared_on_the_documents_of_both() -> None:
    draw = np.random.default_rng(3)
    base = draw.random(20) / 2
    rows = [
        (n, system, "claim_recall", value)
        for system, shift in (("a", 0.0), ("b", 0.4), ("c", 0.0))
        for n, value in enumerate(base + shift)
        if not (system == "b" and n < 2)
    ]
    rows += [(n, "d", "rouge1_p", 0.5) for n in range(20)]  # not among the compared metrics
    frame = pd.DataFrame(rows, columns=["record", "system", "metric", "value"])
    frame = frame.assign(document=frame["record"].astype("str"), stage="doclens", condition="c", item="all")
    lacking = frame.drop_duplicates(["system", "stage", "condition", "item", "metric"]).assign(unscored=0)
    lacking.loc[lacking["system"] == "b", "unscored"] = 2
    found = compare_systems(frame, {"b": np.array([0, 1])}, lacking, ["a", "b", "c", "d"], seed=1)
    table = found[found["metric"] == "claim_recall"].set_index(["system_a", "system_b"])
    assert set(table.index) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert table.loc[("a", "b"), ["n", "failed_a", "failed_b", "changed"]].tolist() == [18, 0, 2, True]
    assert table.loc[("a", "b"), "difference"] == pytest.approx(0.4, abs=1e-6)
    assert table.loc[("a", "c"), ["n", "difference", "changed"]].tolist() == [20, 0, False]
    assert len(compare_systems(frame[frame["system"] == "d"], {}, lacking, ["d", "a"], seed=1)) == 0


def test_the_share_free_of_the_noise_of_seeds_by_hand() -> None:
    """Seeds (1, 2, 3, 4) and (3, 2, 3, 6) have covariance 1.25 over records; the mean of both has variance 1.5."""
    of_b = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 3.0], [4.0, 6.0]])
    assert differences_of(paired(np.zeros((4, 1)), of_b)).share == pytest.approx(1.25 / 1.5)
    assert differences_of(paired(np.zeros((4, 1)), of_b[:, :1])).share == 1


def test_two_seeds_that_agree_by_chance_leave_the_variance_of_records() -> None:
    """Each seed gains on a record of its own, by the same: seeds do not vary, and records not together."""
    a, b = np.zeros((16, 2)), np.zeros((16, 2))
    b[0, 0] = b[1, 1] = 1.0
    b[2:, :] = a[2:, :] = np.arange(14.0)[:, None] % 2
    found = differences_of(paired(a, b))
    assert found.added_variance == 0 or found.share == pytest.approx(1)
    b[1, 1] += 1e-6  # as rounding does
    assert differences_of(paired(a, b)).share == pytest.approx(1, abs=1e-6)
    row = compare([paired(a, b)], seed=1).iloc[0]
    assert row["p"] > 0.25 and row["low"] < 0 < row["high"]


def test_the_interval_of_a_share_that_a_user_defines_ends_at_one() -> None:
    rows = [(n, system, value) for n in range(8) for system, value in (("a", 1.0), ("b", 0.0 if n else 1.0))]
    frame = pd.DataFrame(rows, columns=["record", "system", "value"]).assign(stage="own", condition="own", item="all")
    frame = frame.assign(metric="kept", document=frame["record"].astype("str"))
    lacking = frame.drop_duplicates("system").assign(unscored=0)
    ends = [
        compare_systems(frame, {}, lacking, ["a", "b"], seed=1, own={"kept": bounds})["low"].item()
        for bounds in (None, (0.0, 1.0))
    ]
    assert ends[0] < -1 <= ends[1]
