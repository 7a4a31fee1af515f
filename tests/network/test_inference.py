"""Posteriors equal enumeration and pgmpy, with hard and soft evidence, on every processor."""

import os
import platform
import subprocess
import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from schemas.errors import NetworkError, TableError
from tasks.network.graph import NetworkDefinition, Table, Variable, evidence_columns, in_categories
from tasks.network.inference import (
    joint,
    joint_posterior,
    likelihood_factors,
    log_likelihood,
    marginal,
    posterior,
    updated,
)
from tasks.network.sampling import sample
from tests.network.networks import GUT, RESPIRATORY
from tests.support.cases import each, from_table


def enumerate_all(network: NetworkDefinition) -> pd.DataFrame:
    """Every joint state of the variables with values, with its probability: by enumeration."""
    names = [name for name in network.variables if not network.is_count(name)]
    states = pd.DataFrame(list(product(*(network.values(name) for name in names))), columns=names)
    log_p = np.zeros(len(states))
    for name in names:
        table = network.log_conditional(name)
        family = [*network.parents(name), name]
        log_p += table[tuple(pd.Index(network.values(v)).get_indexer(states[v]) for v in family)]
    return states.assign(p=np.exp(log_p))


@settings(max_examples=24, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.sampled_from([1, 2]))
def test_equals_enumeration_on_random_networks(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    network = random_network(random)
    states = enumerate_all(network)
    targets = [str(name) for name in random.permutation(list(network.variables))[:count]]
    observed = [name for name in network.variables if name not in targets and random.random() < 0.5]
    drawn = states.sample(5, weights="p", replace=True, random_state=int(random.integers(2**31)))
    for row, found in zip(
        drawn[observed].to_dict("records"), joint_posterior(network, drawn[observed], targets), strict=True
    ):
        fits = states[(states[observed] == pd.Series(row, dtype=object)).all(axis=1)] if observed else states
        index = pd.MultiIndex.from_product([network.values(name) for name in targets], names=targets)
        cells = fits.groupby(targets)["p"].sum().reset_index().set_index(targets)["p"]
        known = index if count > 1 else index.get_level_values(0)
        expected = cells.reindex(known, fill_value=0).to_numpy().reshape(found.shape)
        assert found == pytest.approx(expected / expected.sum(), abs=1e-9)


def random_network(random: np.random.Generator) -> NetworkDefinition:
    """Up to seven variables of two to four values with random causes and tables, including zeros."""
    nodes: dict[str, Variable] = {}
    for i in range(int(random.integers(2, 8))):
        parents = tuple(n for n in nodes if random.random() < 0.4)[:4]
        values = tuple("abcd"[: int(random.integers(2, 5))])
        table = random.dirichlet(np.full(len(values), 0.5), size=[len(nodes[p].values) for p in parents])
        table = np.where((table < 0.1) & (random.random() < 0.3), 0, table)
        nodes[f"v{i}"] = Variable(f"v{i}", "symptom", values, parents, Table(table / table.sum(-1, keepdims=True)))
    return NetworkDefinition("random", dict(random.permutation(list(nodes.items()))))


def test_unbounded_days_are_evidence_by_their_poisson_likelihood() -> None:
    states = enumerate_all(RESPIRATORY)
    family = RESPIRATORY.parents("days_at_home")
    codes = tuple(pd.Index(RESPIRATORY.values(v)).get_indexer(states[v]) for v in family)
    rates = RESPIRATORY.rates("days_at_home")[codes]
    for days in (0, 1, 7, 30):
        weights = states["p"] * stats.poisson.pmf(days, rates)
        for target in ("dyspnea", "fever", "pneumonia", "self_employed"):
            expected = weights.groupby(states[target]).sum().reindex(RESPIRATORY.values(target)).to_numpy()
            ours = posterior(RESPIRATORY, pd.DataFrame({"days_at_home": [days]}), target)[0]
            assert ours == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_no_evidence_gives_the_marginal_for_every_row() -> None:
    ours = posterior(GUT, pd.DataFrame(index=range(3)), "infection")
    assert ours.shape == (3, 3)
    assert ours[0] == pytest.approx(joint(GUT, ["infection"])) and (ours == ours[0]).all()
    assert posterior(GUT, pd.DataFrame(index=range(0)), "infection").shape == (0, 3)


def test_rows_keep_their_order_with_repeated_evidence() -> None:
    rows = sample(GUT, 200, 6)[["stool", "vomiting", "visits"]]
    whole = posterior(GUT, rows, "infection")
    single = np.concatenate([posterior(GUT, rows.iloc[[i]], "infection") for i in range(len(rows))])
    assert whole == pytest.approx(single, abs=1e-12)
    turned = rows.iloc[::-1].reset_index(drop=True)
    assert posterior(GUT, turned, "infection")[::-1] == pytest.approx(whole, abs=1e-12)


def test_small_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sample(RESPIRATORY, 300, 6)[["days_at_home", "antibiotics"]]
    whole = posterior(RESPIRATORY, rows, "fever")
    monkeypatch.setattr("tasks.network.inference.CHUNK_CELLS", 1)
    assert posterior(RESPIRATORY, rows, "fever") == pytest.approx(whole, abs=1e-12)


def test_log_likelihood_is_that_of_the_joint() -> None:
    records = sample(GUT, 50, 6)
    states = enumerate_all(GUT)
    names = [n for n in GUT.variables if n != "visits"]
    p = records[names].merge(states, on=names, how="left")["p"].to_numpy()
    codes = tuple(pd.Index(GUT.values(v)).get_indexer(records[v]) for v in GUT.parents("visits"))
    p = p * stats.poisson.pmf(records["visits"], GUT.rates("visits")[codes])
    assert log_likelihood(GUT, records) == pytest.approx(np.log(p))


@from_table
def test_bad_evidence_is_named(evidence: dict, target: str, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        posterior(RESPIRATORY, pd.DataFrame(evidence), target)


def test_missing_column_is_named() -> None:
    with pytest.raises(TableError, match=r"no column fever; expected asthma, .*found record, asthma"):
        log_likelihood(RESPIRATORY, sample(RESPIRATORY, 3, 1).drop(columns="fever"))


def test_zero_probability_evidence_is_named_with_its_zero() -> None:
    rows = pd.DataFrame({"infection": ["bacterial", "viral"], "stool": ["bloody", "bloody"]})
    with pytest.raises(
        NetworkError, match=r"row 1: .*infection=viral.*probability zero: P\(stool=bloody \| infection=viral\) is 0"
    ):
        posterior(GUT, rows, "vomiting")


def test_indirectly_impossible_evidence_is_named() -> None:
    node = GUT.variable("infection")
    never = Variable(node.name, node.type, node.values, node.parents, Table(np.tile([0.9, 0.1, 0.0], (3, 1))))
    with pytest.raises(NetworkError, match="row 0: the evidence stool=bloody has probability zero; correct"):
        posterior(GUT.with_variables([never]), pd.DataFrame({"stool": ["bloody"]}), "water")


def test_days_in_categories_are_the_poisson_with_an_open_last_one() -> None:
    rates = RESPIRATORY.rates("days_at_home")
    table = np.exp(in_categories(RESPIRATORY, {"days_at_home": 15}).log_conditional("days_at_home"))
    assert table.shape[-1] == 16
    assert table[..., 3] == pytest.approx(stats.poisson.pmf(3, rates))
    assert table[..., 15] == pytest.approx(stats.poisson.sf(14, rates), rel=1e-9)
    assert table.sum(axis=-1) == pytest.approx(np.ones_like(rates), abs=1e-12)


def _random_joint(*cards: int) -> np.ndarray:
    return np.random.default_rng(cards).dirichlet(np.ones(int(np.prod(cards)))).reshape(1, *cards)


def test_the_updated_prior_has_the_reported_marginals() -> None:
    prior, random = _random_joint(2, 3, 2), np.random.default_rng(1)
    reported = [random.dirichlet(np.ones(card), size=50) for card in (2, 3, 2)]
    result = updated(prior, likelihood_factors(prior, reported))
    for axis, expected in enumerate(reported):
        np.testing.assert_allclose(marginal(result, axis), expected, atol=1e-8)


def test_one_variable_is_updated_by_jeffreys_rule() -> None:
    """P(b) is the sum over a of P(b | a) q(a), worked by hand (Jeffrey 1965)."""
    prior = np.array([[[0.2, 0.3], [0.1, 0.4]]])  # P(b=0 | a=0) = 0.4, P(b=0 | a=1) = 0.2
    (factor,) = likelihood_factors(prior.sum(axis=2), [np.array([[0.9, 0.1]])])
    result = updated(prior, [factor])
    np.testing.assert_allclose(marginal(result, 1), [[0.9 * 0.4 + 0.1 * 0.2, 0.9 * 0.6 + 0.1 * 0.8]])


def test_contradictory_evidence_leaves_a_uniform_distribution() -> None:
    prior = np.array([[0.5, 0.5]])
    factors = likelihood_factors(prior, [np.array([[1.0, 0.0]])])
    np.testing.assert_allclose(updated(np.array([[0.0, 1.0]]), factors), [[0.5, 0.5]])


@each("setting", ["no-sympt", "realistic"])
def test_a_reader_that_infers_symptoms_from_each_other_is_not_counted_twice(setting: str) -> None:
    """A reader sees each symptom with errors and reports P(symptom | all it saw), as a classifier of notes does.

    With the tabular evidence the exact posterior comes out again; the reader's likelihood ratio for one symptom times
    the network's posterior does not.
    """
    symptoms, random = RESPIRATORY.of_type("symptom"), np.random.default_rng(3)
    records = sample(RESPIRATORY, 200, 5)
    prior = joint(RESPIRATORY, symptoms)[None]
    likelihoods = []
    for symptom in symptoms:
        values = RESPIRATORY.values(symptom)
        true = pd.Index(values).get_indexer(pd.Index(records[symptom]))
        seen = np.where(random.random(200) < 0.8, true, random.integers(len(values), size=200))
        likelihoods.append(0.8 * np.eye(len(values))[seen] + 0.2 / len(values))
    report = [marginal(updated(prior, likelihoods), axis) for axis in range(len(symptoms))]

    columns = evidence_columns(RESPIRATORY, symptoms[0], setting)  # type: ignore[arg-type]
    given = joint_posterior(RESPIRATORY, records[columns], symptoms)
    combined, exact = updated(given, likelihood_factors(prior, report)), updated(given, likelihoods)
    pain = symptoms.index("pain")
    np.testing.assert_allclose(marginal(combined, pain), marginal(exact, pain), atol=1e-7)

    network = posterior(RESPIRATORY, records[columns], "pain")
    product = report[pain] / marginal(prior, pain) * network
    product /= product.sum(axis=1, keepdims=True)
    assert np.abs(product - marginal(exact, pain)).max() > 0.1


FIT = """
from tasks.network.fitting import fit
from schemas.params.records import Fit
from tasks.network.sampling import sample
from tests.support.records import NETWORK
fitted = fit(NETWORK, sample(NETWORK, 800, 7), Fit(optimiser="newton"))
print([repr(fitted.variable(name).distribution) for name in fitted.variables])
"""


@pytest.mark.soak
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="OpenBLAS kernels of x86 processors")
def test_fit_does_not_depend_on_the_processor() -> None:
    fits = {
        kind: subprocess.run(
            [sys.executable, "-c", FIT],
            env={**os.environ, "OPENBLAS_CORETYPE": kind},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kind in ("Nehalem", "Haswell")
    }
    assert "Noisy" in fits["Haswell"]
    assert fits["Nehalem"] == fits["Haswell"]
