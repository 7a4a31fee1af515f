"""Coefficients of a node are fitted to an expert's cases, as SimSUM's days at home were to its Table 8."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.special import expit
from scipy.stats import t

from schemas.errors import NetworkError
from schemas.tables.records import PRINTED_ANTIBIOTICS, PRINTED_DAYS
from tasks.network.cases import Cases, _profile_ends, distribution_entry, fit_cases, mean_error, predicted, read_cases
from tasks.network.definition import load_definition
from tasks.network.fitting import LOGISTIC, maximise
from tests.network.networks import RESPIRATORY
from tests.network.test_recovery import PRINTED, read_table
from tests.support.cases import from_table

LABELS = {"no": "label_without_antibiotics", "yes": "label_with_antibiotics"}
INPUTS = ["dyspnea", "cough", "pain", "nasal", "fever"]


def days(table: str, folder: Path) -> Cases:
    """Cases of Table 8 or 9, one for each label."""
    printed = read_table(PRINTED / f"{table}.csv", PRINTED_DAYS)
    parts = [printed[INPUTS].assign(antibiotics=v, days_at_home=printed[c]) for v, c in LABELS.items()]
    return read(folder, pd.concat(parts).to_csv(index=False))


def read(folder: Path, text: str, node: str = "days_at_home") -> Cases:
    path = folder / "cases.csv"
    path.write_text(text, encoding="utf-8")
    return read_cases(RESPIRATORY, node, path)


def test_table_8_gives_the_coefficients_of_equations_8_and_9_but_for_cough_and_bias(tmp_path: Path) -> None:
    """Only 8 of the 52 labels are of patients without cough: cough and bias are weakly determined, their sum is not."""
    found = fit_cases(RESPIRATORY, "days_at_home", days("simsum_table8_days_train", tmp_path))
    by_name = {one.name.removeprefix("days_at_home | antibiotics="): one for one in found.coefficients}
    kept = {name for name, one in by_name.items() if one.low is None}
    assert kept == {"no: self_employed=yes", "yes: self_employed=yes"}
    assert all(by_name[name].value == by_name[name].before == -0.5 for name in kept)
    outside = {n for n, c in by_name.items() if n not in kept and not (c.low or 0) <= c.before <= (c.high or 0)}
    assert outside == {"yes: bias", "yes: cough=yes"}
    others = [one for name, one in by_name.items() if "bias" not in name and "cough" not in name]
    assert max(abs(one.value - one.before) for one in others) < 0.085
    for block, tolerance in (("no", 0.07), ("yes", 0.09)):
        pair = [by_name[f"{block}: {name}"] for name in ("bias", "cough=yes")]
        assert sum(one.value for one in pair) == pytest.approx(sum(one.before for one in pair), abs=tolerance)


def test_the_cases_of_table_9_were_held_out(tmp_path: Path) -> None:
    """Equations 8 and 9 are off by 0.69 days; the likelihood's maximum, closer on Table 8, is off by 0.87."""
    train, test = (days(f"simsum_{name}", tmp_path) for name in ("table8_days_train", "table9_days_test"))
    fitted = fit_cases(RESPIRATORY, "days_at_home", train).network
    assert mean_error(fitted, "days_at_home", train) < mean_error(RESPIRATORY, "days_at_home", train)
    assert mean_error(RESPIRATORY, "days_at_home", test) == pytest.approx(0.69, abs=0.01)
    assert mean_error(fitted, "days_at_home", test) == pytest.approx(0.87, abs=0.01)


def test_equation_7_orders_the_cases_of_table_7_nearly_as_the_expert_did(tmp_path: Path) -> None:
    """Its weights were set by hand. Labels are in a table of test cases; a pair in the right order counts 1."""
    printed = read_table(PRINTED / "simsum_table7_antibiotics.csv", PRINTED_ANTIBIOTICS)
    table = printed.drop(columns="predicted_probability").rename(columns={"expert_label": "antibiotics"})
    cases = read(tmp_path, table.to_csv(index=False), "antibiotics")
    given = predicted(RESPIRATORY, "antibiotics", cases)
    yes, no = given[cases.labels == 1], given[cases.labels == 0]
    assert (yes[:, None] > no[None]).mean() > 0.9


def test_a_logistic_node_is_recovered_from_many_cases() -> None:
    probabilities = np.exp(RESPIRATORY.log_conditional("antibiotics"))[..., 1].reshape(-1)
    combinations = np.repeat(np.arange(probabilities.size), 400)
    labels = np.random.default_rng(3).random(combinations.size) < probabilities[combinations]
    found = fit_cases(RESPIRATORY, "antibiotics", Cases(combinations, labels.astype(float)))
    inside = [(one.low or 0) <= one.before <= (one.high or 0) for one in found.coefficients]
    assert sum(inside) >= len(inside) - 1
    assert max(abs(one.value - one.before) for one in found.coefficients) < 0.15


def test_intervals_of_a_logistic_node_are_where_the_profile_likelihood_falls() -> None:
    """Of one coefficient, the log odds of 19 of 20 cases; with another one, the other is free at each end."""
    share, below = 0.95, t.ppf(0.975, 19) ** 2 / 2
    ((low, high),) = _profile_ends(
        np.ones((20, 1)), np.array([np.log(share / (1 - share))]), np.repeat([1.0, 0.0], [19, 1])
    )

    def logged(odds: float) -> float:
        return 19 * odds - 20 * np.log1p(np.exp(odds))

    top = logged(np.log(19))
    assert [top - logged(low), top - logged(high)] == pytest.approx([below, below], abs=1e-8)
    assert high - np.log(19) > 1.5 * (np.log(19) - low), "a rare label leaves room above"
    draw = np.random.default_rng(1)
    seen = np.column_stack([np.ones(400), draw.integers(0, 2, 400)])
    labels = (draw.random(400) < 1 / (1 + np.exp(0.5 - seen[:, 1]))).astype(float)
    w = maximise(seen, np.ones((1, 400)), labels[None], LOGISTIC)[0]
    curvature = np.linalg.inv((seen * (expit(seen @ w) * expit(-(seen @ w)))[:, None]).T @ seen)
    half = t.ppf(0.975, 398) * np.sqrt(np.diag(curvature))
    assert _profile_ends(seen, w, labels) == pytest.approx(np.column_stack([w - half, w + half]), abs=0.02)


def test_the_printed_entry_is_read_back(tmp_path: Path) -> None:
    source = yaml.safe_load((Path("tasks/domains/respiratory/network.yaml")).read_text(encoding="utf-8"))
    for name in ("antibiotics", "days_at_home"):
        source["variables"][name] |= distribution_entry(RESPIRATORY, name)
    file = tmp_path / "network.yaml"
    file.write_text(yaml.safe_dump(source, sort_keys=False), encoding="utf-8")
    again = load_definition(file)
    assert np.array_equal(again.rates("days_at_home"), RESPIRATORY.rates("days_at_home"))


@from_table
def test_an_error_names_file_line_and_column(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=rf"cases\.csv: .*{message}"):
        read(tmp_path, text)


def test_cases_that_cannot_determine_a_coefficient_are_refused(tmp_path: Path) -> None:
    cases = read(tmp_path, "dyspnea,pain,antibiotics,days_at_home\nno,no,no,1\nyes,yes,no,4\nno,no,no,2\n")
    with pytest.raises(NetworkError, match=r"pain=yes: no case separates it from .*dyspnea=yes"):
        fit_cases(RESPIRATORY, "days_at_home", cases)
    cases = read(tmp_path, "cough,antibiotics\nno,no\nno,no\nyes,yes\nyes,yes\n", "antibiotics")
    with pytest.raises(NetworkError, match="without exception"):
        fit_cases(RESPIRATORY, "antibiotics", cases)


def test_a_table_is_not_fitted(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="neither poisson nor logistic"):
        read_cases(RESPIRATORY, "asthma", tmp_path / "cases.csv")


def test_the_interval_of_a_mean_of_three_labels_by_hand(tmp_path: Path) -> None:
    """Labels 1, 2 and 3: rate 2, dispersion (1/2 + 0 + 1/2) / 2, variance of its logarithm 0.5 / (3 x 2)."""
    cases = read(tmp_path, "antibiotics,days_at_home\nno,1\nno,2\nno,3\n")
    found = fit_cases(RESPIRATORY, "days_at_home", cases)
    fitted = [one for one in found.coefficients if one.low is not None]
    assert [one.name for one in fitted] == ["days_at_home | antibiotics=no: bias"] and found.cases == 3
    assert fitted[0].value == round(math.log(2), 4)
    half = 4.302653 * math.sqrt(0.5 / 6)  # Student's t with two degrees of freedom
    assert (fitted[0].low, fitted[0].high) == pytest.approx((0.6931 - half, 0.6931 + half), abs=1e-6)
    assert mean_error(found.network, "days_at_home", cases) == pytest.approx(2 / 3, abs=1e-3)


def test_one_case_has_no_interval_and_a_count_of_zero_is_a_case(tmp_path: Path) -> None:
    assert read(tmp_path, "antibiotics,days_at_home\nyes,0\n").labels.tolist() == [0]
    found = fit_cases(RESPIRATORY, "days_at_home", read(tmp_path, "antibiotics,days_at_home\nyes,5\n"))
    (bias,) = [one for one in found.coefficients if one.name == "days_at_home | antibiotics=yes: bias"]
    assert bias.value == round(math.log(5), 4) and math.isnan(bias.low or 0) and math.isnan(bias.high or 0)


def test_a_variable_of_two_values_has_one_effect_and_one_of_three_an_effect_of_each() -> None:
    entry = distribution_entry(RESPIRATORY, "antibiotics")["logistic"]["coefficients"]
    assert set(entry["fever"]) == {"low", "high"} and isinstance(entry["cough"], float)
    by_value = distribution_entry(RESPIRATORY, "days_at_home")["poisson"]
    assert by_value["by"] == "antibiotics" and set(by_value["models"]) == {"no", "yes"}


def test_a_network_with_other_variables_keeps_its_name_unless_it_gets_another() -> None:
    assert RESPIRATORY.with_variables([]).name == RESPIRATORY.name
    assert RESPIRATORY.with_variables([], name="other").name == "other"
