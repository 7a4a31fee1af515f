import numpy as np
import pandas as pd
import pytest

from schemas.tables.baselines import evidence_columns
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import joint, joint_posterior, likelihood_factors, marginal, posterior, updated
from tasks.network.sampling import sample


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


def test_a_report_of_the_prior_marginals_is_no_evidence() -> None:
    prior, posterior_given_other_evidence = _random_joint(2, 3), _random_joint(3, 2).reshape(1, 2, 3)
    factors = likelihood_factors(prior, [marginal(prior, 0), marginal(prior, 1)])
    np.testing.assert_allclose(updated(posterior_given_other_evidence, factors), posterior_given_other_evidence)


def test_contradictory_evidence_leaves_a_uniform_distribution() -> None:
    prior = np.array([[0.5, 0.5]])
    factors = likelihood_factors(prior, [np.array([[1.0, 0.0]])])
    np.testing.assert_allclose(updated(np.array([[0.0, 1.0]]), factors), [[0.5, 0.5]])


@pytest.mark.parametrize("setting", ["no-sympt", "realistic"])
def test_a_reader_that_infers_symptoms_from_each_other_is_not_counted_twice(
    respiratory: NetworkDefinition, setting: str
) -> None:
    """A reader sees each symptom with errors and reports P(symptom | all it saw), as a classifier of notes does.

    With the tabular evidence the exact posterior comes out again; the reader's likelihood ratio for one symptom times
    the network's posterior does not.
    """
    symptoms, random = respiratory.of_type("symptom"), np.random.default_rng(3)
    records = sample(respiratory, 200, 5)
    prior = joint(respiratory, symptoms)[None]
    likelihoods = []
    for symptom in symptoms:
        values = respiratory.values(symptom)
        true = pd.Index(values).get_indexer(pd.Index(records[symptom]))
        seen = np.where(random.random(200) < 0.8, true, random.integers(len(values), size=200))
        likelihoods.append(0.8 * np.eye(len(values))[seen] + 0.2 / len(values))
    report = [marginal(updated(prior, likelihoods), axis) for axis in range(len(symptoms))]

    columns = evidence_columns(respiratory, symptoms[0], setting)  # type: ignore[arg-type]
    given = joint_posterior(respiratory, records[columns], symptoms)
    combined, exact = updated(given, likelihood_factors(prior, report)), updated(given, likelihoods)
    pain = symptoms.index("pain")
    np.testing.assert_allclose(marginal(combined, pain), marginal(exact, pain), atol=1e-7)

    network = posterior(respiratory, records[columns], "pain")
    product = report[pain] / marginal(prior, pain) * network
    product /= product.sum(axis=1, keepdims=True)
    assert np.abs(product - marginal(exact, pain)).max() > 0.1
