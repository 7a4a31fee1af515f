"""What designs reach, beside values worked out by hand and the product's own intervals and tests."""

from math import sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tasks.planning.components import BY_RATER, NOTE, QUESTION, RATER, TAKE, Components, Pilot
from tasks.planning.designs import Design, Study
from tasks.planning.plan import Grid, Prices, Target, alternatives, from_interval, uncertainty
from tasks.planning.report import lines
from tasks.statistics.intervals import COUNT, difference_interval, mean_interval
from tasks.statistics.power import paired_pairs

JUDGED = Components(0.8, {NOTE: 0.02, QUESTION: 0.06, TAKE: 0.12})


def test_the_variance_of_a_note_falls_with_questions_and_takes_only_in_their_parts() -> None:
    study = Study(JUDGED)
    assert study.note_variance(Design(10)) == pytest.approx(0.2)
    assert study.note_variance(Design(10, questions=3)) == pytest.approx(0.02 + 0.02 + 0.04)
    assert study.note_variance(Design(10, questions=3, takes=2)) == pytest.approx(0.02 + 0.02 + 0.02)
    assert study.design_effect(Design(10, questions=3, takes=2)) == pytest.approx(0.06 * 6 / 0.2)


def test_clusters_of_unequal_size_weigh_the_notes() -> None:
    clustered = Components(0.8, {NOTE: 0.04, QUESTION: 0.12}, unequal=0.5)
    assert Study(clustered, pooled=True).note_variance(Design(10, questions=4)) == pytest.approx(0.04 * 1.5 + 0.03)
    assert Study(clustered).note_variance(Design(10, questions=4)) == pytest.approx(0.04 + 0.03)


@pytest.mark.parametrize("notes", [9, 24])
def test_the_half_width_is_that_of_the_interval_of_scores_with_this_variance(notes: int) -> None:
    scores = np.random.default_rng(3).uniform(0.3, 1.0, notes)
    found = Components(float(scores.mean()), {NOTE: float(scores.var(ddof=1))})
    for bounds in ((0.0, 1.0), COUNT, None):
        _, low, high = mean_interval(scores, bounds=bounds)
        assert Study(found, bounds).half_width(Design(notes)) == pytest.approx((high - low) / 2)


@pytest.mark.parametrize("notes", [12, 40])
def test_the_half_width_of_a_difference_is_that_of_the_interval_of_gains_and_losses(notes: int) -> None:
    """Of normal differences, and of notes with a gain, a loss or neither; Student's would be narrower."""
    draw = np.random.default_rng(4)
    apart = Study(Components(0.05, {NOTE: 0.04}), (-1.0, 1.0), True)
    right = Study(Components(0.1, {NOTE: 0.29}, discordant=0.3), (-1.0, 1.0), True)
    found: dict[str, list[float]] = {"apart": [], "right": []}
    for _ in range(300):
        drawn = {
            "apart": draw.normal(0.05, 0.2, notes),
            "right": draw.choice([1.0, -1.0, 0.0], notes, p=[0.2, 0.1, 0.7]),
        }
        for name, values in drawn.items():
            _, low, high = difference_interval(values)
            found[name].append((high - low) / 2)
    assert apart.half_width(Design(notes)) == pytest.approx(np.mean(found["apart"]), rel=0.03)
    assert right.half_width(Design(notes)) == pytest.approx(np.mean(found["right"]), rel=0.03)
    assert apart.half_width(Design(notes)) > Study(apart.components, None, True, True).half_width(Design(2 * notes))


def test_an_interval_that_was_printed_gives_its_variance_back() -> None:
    scores = np.random.default_rng(3).uniform(0.3, 1.0, 60)
    value, low, high = mean_interval(scores)
    found = from_interval(value, low, high, 60, (0.0, 1.0))
    assert found.variances[NOTE] == pytest.approx(scores.var(ddof=1), rel=1e-6)


def test_an_interval_without_variance_is_refused() -> None:
    with pytest.raises(ValueError, match="n 1"):
        from_interval(0.5, 0.4, 0.6, 1, (0.0, 1.0))
    with pytest.raises(ValueError, match="shows no variance"):
        from_interval(1.0, *mean_interval([1.0] * 20)[1:], 20, (0.0, 1.0))


def test_raters_count_for_other_raters_only() -> None:
    found = Components(3.0, {NOTE: 0.4, RATER: 0.09, BY_RATER: 0.2})
    study, design = Study(found, (1.0, 5.0)), Design(50, raters=3)
    note, rater = (0.4 + 0.2 / 3) / 50, 0.03
    freedom = (note + rater) ** 2 / (rater**2 / 2 + note**2 / 49)
    assert study.half_width_other_raters(design) == pytest.approx(stats.t.isf(0.025, freedom) * sqrt(note + rater))
    assert study.half_width(design) < study.half_width_other_raters(design)
    assert np.isnan(study.half_width_other_raters(Design(50)))


def test_power_is_that_of_printed_tables() -> None:
    """Cohen 1988: 64 a group find d = .5 with power .80 (Table 2.4.1); 34 pairs find it, by the same formula."""
    unit = Components(0.0, {NOTE: 1.0})
    assert Study(unit, None, True, independent=True).power(Design(64), 0.5) == pytest.approx(0.80, abs=0.005)
    assert Study(unit, None, True).power(Design(34), 0.5) == pytest.approx(0.81, abs=0.005)
    assert Study(unit, None, True).power(Design(34), 0.0) == pytest.approx(0.05)
    assert Study(unit, None, True, tests=10).power(Design(34), 0.0) == pytest.approx(0.005)


def test_the_smallest_difference_is_found_with_the_power() -> None:
    study = Study(JUDGED, None, True)
    for design in (Design(12), Design(80, questions=3, takes=2), Design(973), Design(20_000)):
        assert study.power(design, study.smallest(design, 0.9)) == pytest.approx(0.9, abs=1e-6)


def test_right_and_wrong_of_single_notes_are_planned_with_mcnemars_test() -> None:
    found = Components(0.1, {NOTE: 0.29}, discordant=0.3)
    study = Study(found, None, True)
    made = alternatives(study, Target(difference=0.1), Grid(), Prices())
    assert made.loc[0, "notes"] == pytest.approx(paired_pairs(0.1, 0.3, power=0.8, level=0.05), rel=0.03)
    assert np.isnan(study.power(Design(50), 0.4))


def test_the_cheapest_design_is_the_chosen_one() -> None:
    made = alternatives(
        Study(JUDGED), Target(0.05), Grid(questions=(1, 4), takes=(1, 5)), Prices(note=1.0, judgement=0.01)
    )
    assert made["half_width"].le(0.05).all()
    assert made["dollars"].tolist() == pytest.approx(
        [n + 0.01 * n * q * t for n, q, t in made[["notes", "questions", "takes"]].itertuples(index=False)]
    )
    assert made.loc[made["chosen"], "dollars"].tolist() == [made["dollars"].min()]
    one_less = made[made["chosen"]].iloc[0]
    design = Design(one_less["notes"] - 1, one_less["questions"], one_less["takes"])
    assert Study(JUDGED).half_width(design) > 0.05


def test_two_systems_are_judged_twice_on_the_same_notes() -> None:
    made = alternatives(
        Study(JUDGED, None, True), Target(), Grid(notes=(20,), takes=(3,)), Prices(note=2.0, judgement=0.5, label=0.1)
    )
    assert made.loc[0, "judgements"] == 120
    assert made.loc[0, "dollars"] == pytest.approx(20 * 2 + 2 * (20 * 3 * 0.5 + 20 * 0.1))


def test_what_the_pilot_does_not_tell_is_not_planned() -> None:
    with pytest.raises(ValueError, match="3 takes: the components do not say"):
        alternatives(Study(Components(0.8, {NOTE: 0.1})), Target(0.05), Grid(takes=(1, 3)), Prices())
    with pytest.raises(ValueError, match="expected a half width"):
        alternatives(Study(JUDGED), Target(), Grid(), Prices())


def test_a_target_beyond_reach_is_said() -> None:
    made = alternatives(Study(JUDGED), Target(0.0001), Grid(), Prices())
    assert made["reached"].tolist() == [False]
    shown = "\n".join(lines(Study(JUDGED), Target(0.0001), made, None, "given"))
    assert ">100000" in shown
    assert "no design reaches the target" in shown


def test_few_notes_say_little_about_what_is_needed() -> None:
    draw = np.random.default_rng(5)
    rows = np.repeat(np.arange(12), 4)
    scores = pd.DataFrame({"document": rows.astype(str), "score": draw.normal(0, 1, 12)[rows] + draw.normal(0, 1, 48)})
    pilot = Pilot(scores)
    study = Study(pilot.components(), None)
    value, low, high = uncertainty(study, Design(20, questions=4), pilot)
    assert value == pytest.approx(study.note_variance(Design(20, questions=4)))
    assert low < 0.6 * value
    assert high > 1.6 * value
    target, grid = Target(half_width=0.3), Grid(questions=(4,))
    shown = "\n".join(lines(study, target, alternatives(study, target, grid, Prices()), pilot, "pilot.csv"))
    assert "12 notes are few, pilot 20 or more" in shown


def test_an_interval_of_a_printed_row_has_the_freedom_of_its_notes() -> None:
    study = Study(Components(0.5, {NOTE: 0.04}, notes=11, n=11))
    _, low, high = uncertainty(study, Design(30), None)
    assert (low, high) == pytest.approx((0.04 * 10 / 20.483, 0.04 * 10 / 3.247), rel=1e-3)  # chi-square, 10 degrees
