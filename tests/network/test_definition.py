"""Definitions of networks: what a file may hold."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from schemas.errors import NetworkError
from schemas.tables.records import COMPACT_NOTES, NOTES, records_schema, visits_schema
from tasks.domains.in_use import FOLDER
from tasks.network.definition import load_definition
from tests.network.networks import GUT, RESPIRATORY
from tests.support.cases import from_table, merged
from tests.support.sources import needs_sources, sources_folder

FILE = FOLDER / "respiratory" / "network.yaml"


def test_causes_come_first_for_any_order_of_the_file() -> None:
    assert GUT.variables[0] == "visits"
    for name in GUT.variables:
        assert all(GUT.order.index(parent) < GUT.order.index(name) for parent in GUT.parents(name))


@from_table
def test_bad_file_is_rejected_with_node_and_entry(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    loaded = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    loaded["variables"] = merged(loaded["variables"], change)
    bad = tmp_path / "bad.yaml"
    bad.write_text(yaml.safe_dump(loaded, sort_keys=False), encoding="utf-8")
    with pytest.raises(NetworkError, match=message) as caught:
        load_definition(bad)
    assert str(bad) in str(caught.value)


STRUCTURE = {*records_schema(GUT).columns, *visits_schema(GUT).columns} - {*GUT.variables}


@pytest.mark.parametrize("name", sorted({*STRUCTURE, *NOTES.columns, *COMPACT_NOTES.columns}))
def test_no_variable_may_have_the_name_of_a_column_of_the_tables(name: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    node = {"type": "underlying condition", "values": ["no", "yes"], "table": [0.5, 0.5]}
    bad.write_text(yaml.safe_dump({"name": "x", "variables": {name: node}}), encoding="utf-8")
    with pytest.raises(NetworkError, match=f"node {name}: this name is reserved"):
        load_definition(bad)


@from_table
def test_file_that_is_no_network_is_rejected(text: str, message: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(text, encoding="utf-8")
    with pytest.raises(NetworkError, match=message):
        load_definition(bad)


def _reference() -> dict[str, Any]:
    # BaseLoader, as the reference file has unquoted yes and no.
    text = (sources_folder() / ".." / "reference" / "simsum_network.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=yaml.BaseLoader)


@needs_sources
def test_every_parameter_equals_the_reference_facts() -> None:
    facts, p = _reference(), lambda name: np.exp(RESPIRATORY.log_conditional(name))
    for name in ("asthma", "smoking", "hay_fever", "self_employed"):
        assert p(name)[1] == pytest.approx(float(facts["priors"][name]))
    assert p("season")[1] == pytest.approx(0.40) and p("policy")[1] == pytest.approx(0.65)
    assert p("COPD")[:, 1] == pytest.approx([0.0075, 0.073])
    assert p("common_cold")[:, 1] == pytest.approx([0.05, 0.50])
    for combination, probability in facts["cpt"]["pneumonia_yes"].items():
        if combination != "parents":
            copd, asthma, season = combination.split("/")
            place = int(copd == "yes"), int(asthma == "yes"), int(season == "winter")
            assert p("pneumonia")[*place, 1] == pytest.approx(float(probability))
    for combination, row in facts["cpt"]["fever"].items():
        pneumonia, cold = combination.split("/")
        expected = [float(x) for x in row]
        assert p("fever")[int(pneumonia == "yes"), int(cold == "yes")] == pytest.approx(expected)
    for name, parameters in facts["noisy_or"].items():
        node = RESPIRATORY.variable(name).distribution
        assert node.leak == float(parameters.pop("leak"))
        assert {parent: effects[1] for parent, effects in node.causes.items()} == {
            parent: float(value) for parent, value in parameters.items()
        }
    _assert_regression(RESPIRATORY.variable("antibiotics").distribution, facts["antibiotics_logit"])
    models = RESPIRATORY.variable("days_at_home").distribution.models
    _assert_regression(models["no"], facts["days_at_home_log_rate"]["without_antibiotics"])
    _assert_regression(models["yes"], facts["days_at_home_log_rate"]["with_antibiotics"])


def _assert_regression(model: Any, facts: dict[str, str]) -> None:
    found = {"bias": model.bias}
    for parent, effects in model.coefficients.items():
        named = {"fever": ("fever_low", "fever_high"), "policy": ("policy_high",)}.get(parent, (parent,))
        found |= dict(zip(named, effects[1:], strict=True))
    assert found == {name: float(value) for name, value in facts.items()}
