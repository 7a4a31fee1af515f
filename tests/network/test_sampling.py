import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tasks.network.graph import NetworkDefinition
from tasks.network.inference import joint
from tasks.network.sampling import draw_given_parents, sample
from tests.network.networks import GUT, RESPIRATORY

P_VALUE = 1e-4  # seeds are fixed, so a good sampler passes every time


@pytest.mark.parametrize("network", [RESPIRATORY, GUT], ids=lambda network: network.name)
def test_every_variable_has_its_exact_distribution_given_its_causes(network: NetworkDefinition) -> None:
    records = sample(network, 100_000, 11)
    for name in network.variables:
        if network.is_count(name):
            continue
        family = [*network.parents(name), name]
        expected = joint(network, family).reshape(-1) * len(records)
        observed = np.histogramdd(
            np.stack([pd.Index(network.values(v)).get_indexer(records[v]) for v in family], axis=1),
            bins=[np.arange(c + 1) - 0.5 for c in network.cards(family)],
        )[0].reshape(-1)
        assert observed[expected == 0].sum() == 0
        common = expected > 5
        rest = expected[~common].sum(), observed[~common].sum()
        f_exp, f_obs = expected[common], observed[common]
        if rest[0] > 5:
            f_exp, f_obs = np.append(f_exp, rest[0]), np.append(f_obs, rest[1])
        assert stats.chisquare(f_obs, f_exp * f_obs.sum() / f_exp.sum()).pvalue > P_VALUE, name


def test_days_are_an_unbounded_poisson_given_their_causes() -> None:
    causes = {"antibiotics": "no", "self_employed": "no", "fever": "high", "nasal": "yes"}
    causes |= {"dyspnea": "yes", "cough": "yes", "pain": "yes"}
    codes = {name: np.full(50_000, RESPIRATORY.values(name).index(value)) for name, value in causes.items()}
    days = draw_given_parents(RESPIRATORY, "days_at_home", codes, 50_000, np.random.default_rng(3))
    rate = np.exp(0.010 + 0.64 + 0.35 + 0.47 + 0.011 + 1.23)
    assert days.mean() == pytest.approx(rate, abs=4 * np.sqrt(rate / 50_000))
    assert days.max() > 15
    edges = np.arange(5, 26)
    observed = np.bincount(np.digitize(days, edges), minlength=len(edges) + 1)
    expected = np.diff(np.concatenate([[0], stats.poisson.cdf(edges - 1, rate), [1]])) * len(days)
    assert stats.chisquare(observed, expected).pvalue > P_VALUE


def test_the_seed_decides_the_records_and_more_records_keep_the_first_ones() -> None:
    records = sample(RESPIRATORY, 300, 5)
    pd.testing.assert_frame_equal(sample(RESPIRATORY, 1000, 5).head(300), records)
    assert not records.equals(sample(RESPIRATORY, 300, 6))


def test_records_do_not_depend_on_the_order_of_the_file() -> None:
    turned = NetworkDefinition("turned", dict(reversed(list(RESPIRATORY.nodes.items()))))
    ours, theirs = sample(RESPIRATORY, 200, 5), sample(turned, 200, 5)
    pd.testing.assert_frame_equal(ours, theirs[list(ours.columns)])
