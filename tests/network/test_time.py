"""A network over time: sampled histories have the exact distributions, and posteriors are those of enumeration."""

import asyncio
import shutil
import time
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from flows.runtime.tables import check
from flows.stages import visits as visits_stage
from schemas.errors import NetworkError
from schemas.params.records import Visits
from schemas.tables.records import visits_schema
from tasks.domains.in_use import FOLDER
from tasks.network.coding import encode
from tasks.network.definition import load_definition
from tasks.network.filtering import filtered, smoothed
from tasks.network.inference import joint, joint_posterior
from tasks.network.sampling import sample
from tasks.network.time import sample_histories
from tasks.network.visits import visit_dates, visits_per_patient
from tests.support.unrolled import TIMED, at_visit, codes_seen, conditional, timed_network, unrolled

SEED = 11
SMALL = "_skeleton"


def enumerated(network, transitions, visits: pd.DataFrame, target: str, until: int | None = None) -> np.ndarray:
    """P(target at each visit | evidence up to ``until``, or to the visit itself) by summing the full joint table."""
    long, found = unrolled(network, transitions, len(visits)), []
    for visit in range(1, len(visits) + 1):
        seen = codes_seen(network, transitions, visits.iloc[: until or visit].to_dict("records"))
        wanted = target if target in transitions.constant else at_visit(target, visit)
        found.append(conditional(long, seen, [wanted]))
    return np.array(found)


def hide(histories: pd.DataFrame, names: list[str], share: float = 0.5) -> pd.DataFrame:
    """Without ``names``, and without a share of the other values."""
    shown = histories.drop(columns=["record", *names]).astype(object)
    random = np.random.default_rng(3)
    for name in shown.columns.drop(["patient", "visit", "day"]):
        shown.loc[random.random(len(shown)) < share, name] = None
    return shown


@pytest.mark.parametrize("target", ["otitis", "diabetes"])
@pytest.mark.parametrize("with_days", [True, False])
def test_filtered_and_smoothed_states_are_those_of_enumeration(target, with_days):
    network, transitions = timed_network(SMALL)
    visits = hide(sample_histories(network, transitions, 12, [1, 2, 3] * 4, SEED), [target])
    visits = visits if with_days else visits.drop(columns="day")
    before, after = (one(network, transitions, visits, target) for one in (filtered, smoothed))
    for _, own in visits.groupby("patient"):
        rows = own.index.to_numpy()
        assert before[rows] == pytest.approx(enumerated(network, transitions, own, target), abs=1e-9)
        assert after[rows] == pytest.approx(enumerated(network, transitions, own, target, len(own)), abs=1e-9)


def test_smoothed_states_do_not_depend_on_the_order_of_rows():
    network, transitions = timed_network(SMALL)
    visits = hide(sample_histories(network, transitions, 6, [1, 2, 3] * 2, SEED), ["otitis"])
    shuffled = visits.sample(frac=1, random_state=1)
    expected = smoothed(network, transitions, visits, "otitis")[shuffled.index.to_numpy()]
    assert smoothed(network, transitions, shuffled, "otitis") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("domain", TIMED)
def test_smoothed_states_of_a_domain_are_those_of_elimination_in_the_unrolled_network(domain):
    network, transitions = timed_network(domain)
    target, hidden = network.of_type("diagnosis")[0], list(network.of_type("diagnosis"))
    visits = sample_histories(network, transitions, 20, 4, SEED).drop(columns=["record", *hidden])
    found = smoothed(network, transitions, visits, target)
    long, days = unrolled(network, transitions, 4), visits.pivot(index="patient", columns="visit", values="day")
    wide = {}
    for name in visits.columns.drop(["patient", "visit", "day"]):
        by_visit = visits.pivot(index="patient", columns="visit", values=name)
        if name in transitions.constant:
            wide[name] = by_visit[1]
        else:
            wide |= {at_visit(name, visit): by_visit[visit] for visit in by_visit}
    for visit in (2, 3, 4):
        codes = transitions.gap_codes((days[visit] - days[visit - 1]).to_numpy())
        wide[at_visit("gap", visit)] = np.array(list(transitions.days))[codes]
    evidence = pd.DataFrame(wide)
    for visit in range(1, 5):
        expected = joint_posterior(long, evidence, [at_visit(target, visit)])
        assert found[(visits["visit"] == visit).to_numpy()] == pytest.approx(expected, abs=1e-9)


def test_a_constant_that_changes_is_impossible():
    network, transitions = timed_network(SMALL)
    visits = sample_histories(network, transitions, 1, 2, SEED).drop(columns=["record", "otitis"])
    visits["diabetes"] = ["no", "yes"]
    with pytest.raises(NetworkError, match="patient 0, visit 2: the evidence has probability zero"):
        filtered(network, transitions, visits, "otitis")


@pytest.mark.parametrize("patients", [5_000, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("domain", TIMED)
def test_sampled_transitions_are_within_4_standard_errors(domain, patients):
    """Each marginal at visits 2 and 3, each pair of a variable at two visits in a row, and each interval."""
    network, transitions = timed_network(domain)
    long = unrolled(network, transitions, 3)
    histories = sample_histories(network, transitions, patients, 3, SEED)
    by_visit = {visit: own.reset_index(drop=True) for visit, own in histories.groupby("visit")}
    codes = {visit: encode(network, own, network.variables) for visit, own in by_visit.items()}
    for name, visit in product(network.variables, (2, 3)):
        if network.is_count(name):
            continue
        before, now = codes[visit - 1][name], codes[visit][name]
        if name in transitions.constant:
            assert (before == now).all()
            continue
        exact = joint(long, [at_visit(name, visit - 1), at_visit(name, visit)])
        pairs = np.bincount(before * exact.shape[1] + now, minlength=exact.size).reshape(exact.shape)
        assert within(pairs, exact, patients), (name, visit)
        assert within(pairs.sum(axis=0), exact.sum(axis=0), patients), (name, visit)
    for visit in (2, 3):
        gaps = transitions.gap_codes((by_visit[visit]["day"] - by_visit[visit - 1]["day"]).to_numpy())
        assert within(
            np.bincount(gaps, minlength=len(transitions.days)), joint(long, [at_visit("gap", visit)]), patients
        )


def within(counts: np.ndarray, exact: np.ndarray, n: int) -> bool:
    return bool((np.abs(counts / n - exact) <= 4 * np.sqrt(exact * (1 - exact) / n)).all())


def test_a_count_that_was_not_observed_changes_nothing_and_one_that_was_does():
    network, transitions = timed_network("respiratory")
    visits = sample_histories(network, transitions, 8, 3, SEED).drop(columns=["record", "antibiotics"])
    partly = visits.assign(days_at_home=visits["days_at_home"].where(visits["visit"] == 2))
    without = visits.drop(columns="days_at_home")
    wide = [smoothed(network, transitions, one, "antibiotics") for one in (visits, partly, without)]
    at_two = (visits["visit"] == 2).to_numpy()
    assert np.abs(wide[1] - wide[2])[at_two].max() > 1e-3
    assert np.abs(wide[0] - wide[1])[~at_two].max() > 1e-3
    blank = visits.assign(days_at_home=np.nan)
    assert smoothed(network, transitions, blank, "antibiotics") == pytest.approx(wide[2], abs=1e-12)


@pytest.mark.soak
def test_a_million_visits_take_less_than_30_seconds():
    network, transitions = timed_network("respiratory")
    start = time.perf_counter()
    assert len(sample_histories(network, transitions, 125_000, 8, SEED)) == 1_000_000
    assert time.perf_counter() - start < 30


@pytest.mark.parametrize("domain", TIMED)
def test_one_visit_a_patient_is_the_static_sample(domain):
    network, transitions = timed_network(domain)
    names = list(network.variables)
    found = sample_histories(network, transitions, 500, 1, SEED)
    assert found[names].to_csv() == sample(network, 500, SEED)[names].to_csv()


def test_histories_keep_their_values_when_patients_and_visits_are_added():
    network, transitions = timed_network(SMALL)
    few = sample_histories(network, transitions, 10, 3, SEED)
    more = sample_histories(network, transitions, 20, 5, SEED)
    kept = more[(more["patient"] < 10) & (more["visit"] <= 3)].reset_index(drop=True)
    pd.testing.assert_frame_equal(few, kept)


def test_a_domain_without_transitions_has_no_visits(tmp_path):
    copy = Path(shutil.copy(FOLDER / SMALL / "network.yaml", tmp_path))
    saved = {}
    stage = SimpleNamespace(
        network=load_definition(copy), dep={"network": copy}.__getitem__, save=saved.__setitem__, params=None
    )
    asyncio.run(visits_stage.run(stage))
    check(saved["visits"], visits_schema(stage.network), "visits")
    assert saved["visits"].empty


def test_records_number_patients_and_visits():
    network, transitions = timed_network(SMALL)
    histories = sample_histories(network, transitions, 3, [2, 1, 3], SEED)
    assert histories["record"].tolist() == [1, 2, 101, 201, 202, 203]
    assert (histories.groupby("patient")["day"].first() == 0).all()


def test_numbers_of_visits_have_the_stated_distribution_and_do_not_depend_on_the_number_of_patients():
    params = Visits(patients=20_000, most=4, another=0.6, long_visits=[30])
    sizes = visits_per_patient(params, SEED)
    assert len(sizes) == 20_001 and sizes[-1] == 30
    shares = np.bincount(sizes[:-1])[1:] / 20_000
    exact = np.array([0.4, 0.24, 0.144, 0.216])
    assert (np.abs(shares - exact) <= 4 * np.sqrt(exact * (1 - exact) / 20_000)).all()
    few = params.model_copy(update={"patients": 50})
    assert (visits_per_patient(few, SEED)[:50] == sizes[:50]).all()


def test_dates_count_from_a_fixed_first_day():
    visits = pd.DataFrame({"patient": [3, 3, 4], "day": [0, 31, 0]})
    dates = visit_dates(visits)
    assert pd.Timestamp(dates[1]) - pd.Timestamp(dates[0]) == pd.Timedelta(days=31)
    assert dates[2] != dates[0]


@pytest.mark.parametrize("sizes", [0, 100, [1, 2]])
def test_impossible_numbers_of_visits_are_refused(sizes):
    network, transitions = timed_network(SMALL)
    with pytest.raises(NetworkError, match="visits"):
        sample_histories(network, transitions, 3, sizes, SEED)
