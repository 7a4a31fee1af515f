"""Fitted parameters: optima, smoothing, bad records, and how far they recover a known network."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from schemas.errors import NetworkError, TableError
from schemas.params.records import Fit, Network
from tasks.network.coding import combine, design_of, encode
from tasks.network.fitting import LOGISTIC, NOISY_OR, POISSON, Likelihood, fit, maximise, noisy_or_terms, totals
from tasks.network.graph import Floats, NetworkDefinition, in_categories
from tasks.network.inference import log_likelihood
from tasks.network.recovery import FEWEST, FEWEST_IN_ALL, recovery_table
from tasks.network.sampling import sample
from tests.network.networks import GUT, RESPIRATORY

NEWTON = Fit(optimiser="newton")


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    return sample(RESPIRATORY, 8000, 21)


@pytest.fixture(scope="module")
def fitted(records: pd.DataFrame) -> NetworkDefinition:
    return fit(RESPIRATORY, records, NEWTON)


def unbounded(network: NetworkDefinition) -> NetworkDefinition:
    return in_categories(network, {name: None for name in network.variables if network.is_count(name)})


def test_tables_are_counts_with_one_added_to_each(records: pd.DataFrame, fitted: NetworkDefinition) -> None:
    for name in ("asthma", "COPD", "pneumonia", "fever"):
        family = [*RESPIRATORY.parents(name), name]
        counts = records.groupby(family).size()
        shape = RESPIRATORY.cards(family)
        every = pd.MultiIndex.from_product([RESPIRATORY.values(v) for v in family], names=family)
        filled = counts.reindex(every if len(family) > 1 else every.get_level_values(0), fill_value=0)
        smoothed = filled.to_numpy().reshape(shape) + 1.0
        expected = smoothed / smoothed.sum(axis=-1, keepdims=True)
        assert np.exp(fitted.log_conditional(name)) == pytest.approx(expected)


def test_combination_without_records_gets_equal_shares() -> None:
    boiled = sample(GUT, 2000, 1).query("water == 'boiled'")
    learned = np.exp(fit(GUT, boiled, NEWTON).log_conditional("infection"))
    assert learned[2] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    ("name", "likelihood"),
    [("dyspnea", NOISY_OR), ("pain", NOISY_OR), ("antibiotics", LOGISTIC), ("days_at_home", POISSON)],
)
def test_newton_reaches_the_optimum_of_scipys_optimiser(
    records: pd.DataFrame, name: str, likelihood: Likelihood
) -> None:
    codes = encode(RESPIRATORY, records, RESPIRATORY.variables)
    design = design_of(RESPIRATORY, name).matrix
    n, s = totals(combine(RESPIRATORY, RESPIRATORY.parents(name), codes, len(records)), codes[name], len(design))

    def loss(w: Floats) -> tuple[float, Floats]:
        value, first, _ = likelihood.terms(design @ w, n, s)
        return -value.sum() / len(records), -(first @ design) / len(records)

    ours = maximise(design, n[None], s[None], likelihood)[0]
    bounds = [(1e-9, None)] * len(ours) if likelihood is NOISY_OR else None
    theirs = minimize(
        loss, np.full(len(ours), 0.1), jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-10}
    )
    assert loss(ours)[0] <= theirs.fun + 1e-12
    assert ours == pytest.approx(theirs.x, abs=2e-3)


def test_a_cause_that_seems_to_protect_stays_at_probability_zero() -> None:
    records = sample(RESPIRATORY, 400, 1)
    records.loc[records["hay_fever"] == "yes", "dyspnea"] = "no"
    node = fit(RESPIRATORY, records, NEWTON).variable("dyspnea").distribution
    assert node.causes["hay_fever"][1] == pytest.approx(0, abs=1e-6)


def test_a_cause_nobody_has_stays_finite_and_without_effect() -> None:
    nobody = sample(RESPIRATORY, 600, 1).query("COPD == 'no' and self_employed == 'no'")
    learned = fit(RESPIRATORY, nobody, NEWTON)
    assert learned.variable("dyspnea").distribution.causes["COPD"][1] == pytest.approx(0, abs=1e-5)
    assert learned.variable("days_at_home").distribution.models["no"].coefficients["self_employed"][1] == 0
    assert np.isfinite(log_likelihood(unbounded(learned), sample(RESPIRATORY, 300, 2))).all()


@pytest.mark.parametrize("n", [1, 5, 16, 64])
def test_a_network_fitted_to_few_records_holds_no_other_record_for_impossible(n: int) -> None:
    for seed in range(6):
        learned = fit(GUT, sample(GUT, n, seed), NEWTON)
        assert np.isfinite(log_likelihood(learned, sample(GUT, 300, seed + 100))).all(), seed


def test_a_value_never_seen_without_a_cause_gets_a_leak_by_the_rule_of_succession() -> None:
    records = sample(RESPIRATORY, 400, 1)
    causes = list(RESPIRATORY.parents("nasal"))
    without = (records[causes] == "no").all(axis=1)
    records.loc[without, "nasal"] = "no"
    node = fit(RESPIRATORY, records, NEWTON).variable("nasal").distribution
    assert node.leak == pytest.approx(1 / (without.sum() + 2))


def test_a_cause_always_followed_by_the_value_spoils_no_other_estimate() -> None:
    """Its estimate grows until a predictor's exponential overflows."""
    present = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    design = np.concatenate([np.ones((7, 1)), np.array(present, dtype=float)], axis=1)
    n, s = np.array([42.0, 2, 14, 3, 1, 1, 1]), np.array([2.0, 2, 2, 0, 1, 0, 1])
    leak, first, second, *always = NOISY_OR.to_reported(maximise(design, n[None], s[None], NOISY_OR)[0])
    assert all(0.999 < one < 1 for one in always) and first == 0
    assert leak == pytest.approx(2 / 45, rel=1e-3)
    assert 1 - (1 - leak) * (1 - second) == pytest.approx(2 / 15, rel=1e-3)


def test_bad_records_are_named(records: pd.DataFrame) -> None:
    with pytest.raises(TableError, match="no column fever, nasal"):
        fit(RESPIRATORY, records.drop(columns=["fever", "nasal"]), NEWTON)
    with pytest.raises(NetworkError, match="column fever, row 2: found 'mild'"):
        fit(RESPIRATORY, records.head(5).assign(fever=["none", "low", "mild", "none", "none"]), NEWTON)
    with pytest.raises(NetworkError, match="no records to fit"):
        fit(RESPIRATORY, records.head(0), NEWTON)


def test_noisy_or_without_and_with_a_case_that_has_the_second_value() -> None:
    """Four cases at eta 0.5: no case has it with probability exp(-2), a given one with (1 - exp(-0.5)) exp(-1.5)."""
    terms = noisy_or_terms(np.array([0.5, 0.5]), np.array([4.0, 4.0]), np.array([0.0, 1.0]))
    odds = math.exp(0.5) - 1
    assert terms[0] == pytest.approx([-2.0, math.log(1 - math.exp(-0.5)) - 1.5])
    assert terms[1] == pytest.approx([-4.0, 1 / odds - 3.0])
    assert terms[2] == pytest.approx([0.0, -(odds + 1) / odds**2])


def test_few_records_give_no_interval_that_would_be_too_narrow() -> None:
    """Of 60 samples of 50 records, bootstraps of the regressions hold the truth in 62 to 85%."""
    table = recovery_table(RESPIRATORY, sample(RESPIRATORY, FEWEST_IN_ALL - 1, 7), Network(draws=100, held_out=2000), 7)
    one = table[table["metric"] == "parameter"].set_index("system")
    assert one.loc["maximum likelihood", "low"].isna().all()
    counted = one.loc["K2 counts"]
    assert (counted["low"].notna() == (counted["n"] >= FEWEST)).all() and counted["low"].notna().any()


def test_no_interval_of_a_log_likelihood_reaches_above_zero() -> None:
    """A fit to ten records gives a few held-out ones next to no probability, and Student's interval reached above 0."""
    table = recovery_table(RESPIRATORY, sample(RESPIRATORY, 10, 7), Network(draws=100, held_out=500), 7)
    rows = table[table["metric"].str.endswith("log-likelihood per record")]
    assert len(rows) == 6 and rows["high"].max() == 0 and (rows["high"] >= rows["value"]).all()


def test_summaries_of_the_fit_count_the_parameters_that_they_are_of() -> None:
    table = recovery_table(RESPIRATORY, sample(RESPIRATORY, 40, 7), Network(draws=100, held_out=200), 7)
    rows = table[table["metric"] == "parameter"].set_index("system")
    found, truth = table[table["item"] == "all"].set_index(["system", "metric"]), rows.loc["true"].set_index("item")
    for system in ("K2 counts", "maximum likelihood"):
        own = rows.loc[system]
        counted = {"mean absolute error": own["n"] > 0, "share of intervals that hold the truth": own["low"].notna()}
        for metric, known in counted.items():
            expected = [[known.sum(), (~known).sum()]] if known.any() else []
            assert found.reindex([(system, metric)])[["n", "unscored"]].dropna().to_numpy().tolist() == expected
        apart = (own.set_index("item")["value"] - truth["value"]).dropna()[own["item"][own["n"].gt(0).to_numpy()]]
        assert found.loc[(system, "mean absolute error"), "value"] == pytest.approx(apart.abs().mean())
