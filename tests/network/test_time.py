"""A network over time: sampled histories have the exact distributions of the network of all visits."""

import asyncio
import shutil
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
from tasks.network.inference import joint
from tasks.network.sampling import sample
from tasks.network.time import sample_histories
from tasks.network.visits import visits_per_patient
from tests.support.unrolled import TIMED, at_visit, gap_codes, timed_network, unrolled

SEED = 11
SMALL = "_skeleton"


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
        gaps = gap_codes(transitions, (by_visit[visit]["day"] - by_visit[visit - 1]["day"]).to_numpy())
        assert within(
            np.bincount(gaps, minlength=len(transitions.days)), joint(long, [at_visit("gap", visit)]), patients
        )


def within(counts: np.ndarray, exact: np.ndarray, n: int) -> bool:
    return bool((np.abs(counts / n - exact) <= 4 * np.sqrt(exact * (1 - exact) / n)).all())


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
    asyncio.run(visits_stage.run_visits(stage))
    check(saved["visits"], visits_schema(stage.network), "visits")
    assert saved["visits"].empty


def test_numbers_of_visits_have_the_stated_distribution_and_do_not_depend_on_the_number_of_patients():
    params = Visits(patients=20_000, most=4, another=0.6, long_visits=[30])
    sizes = visits_per_patient(params, SEED)
    assert len(sizes) == 20_001 and sizes[-1] == 30
    shares = np.bincount(sizes[:-1])[1:] / 20_000
    exact = np.array([0.4, 0.24, 0.144, 0.216])
    assert (np.abs(shares - exact) <= 4 * np.sqrt(exact * (1 - exact) / 20_000)).all()
    few = params.model_copy(update={"patients": 50})
    assert (visits_per_patient(few, SEED)[:50] == sizes[:50]).all()


@pytest.mark.parametrize("sizes", [0, 100, [1, 2]])
def test_impossible_numbers_of_visits_are_refused(sizes):
    network, transitions = timed_network(SMALL)
    with pytest.raises(NetworkError, match="visits"):
        sample_histories(network, transitions, 3, sizes, SEED)
