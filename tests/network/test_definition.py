from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from schemas.errors import NetworkError
from tasks.domains.in_use import FOLDER
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition
from tests.support.sources import needs_sources, sources_folder

RESPIRATORY = FOLDER / "respiratory" / "network.yaml"


def test_shipped_file_is_simsums_network(respiratory: NetworkDefinition) -> None:
    assert respiratory.of_type("symptom") == ("dyspnea", "cough", "pain", "fever", "nasal")
    assert respiratory.of_type("underlying condition") == ("asthma", "smoking", "COPD", "hay_fever")
    assert respiratory.values("fever") == ("none", "low", "high")
    assert respiratory.parents("pneumonia") == ("COPD", "asthma", "season")
    assert respiratory.is_count("days_at_home") and respiratory.values("days_at_home") == ()
    assert [v for v in respiratory.variables if not respiratory.is_recorded(v)] == [
        "policy",
        "self_employed",
        "days_at_home",
    ]


def _reference() -> dict[str, Any]:
    # BaseLoader, as the reference file has unquoted yes and no.
    text = (sources_folder() / ".." / "reference" / "simsum_network.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=yaml.BaseLoader)


@needs_sources
def test_every_parameter_equals_the_reference_facts(respiratory: NetworkDefinition) -> None:
    facts, p = _reference(), lambda name: np.exp(respiratory.log_conditional(name))
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
        node = respiratory.variable(name).distribution
        assert node.leak == float(parameters.pop("leak"))
        assert {parent: effects[1] for parent, effects in node.causes.items()} == {
            parent: float(value) for parent, value in parameters.items()
        }
    _assert_regression(respiratory.variable("antibiotics").distribution.model, facts["antibiotics_logit"])
    models = respiratory.variable("days_at_home").distribution.models
    _assert_regression(models["no"], facts["days_at_home_log_rate"]["without_antibiotics"])
    _assert_regression(models["yes"], facts["days_at_home_log_rate"]["with_antibiotics"])


def _assert_regression(model: Any, facts: dict[str, str]) -> None:
    found = {"bias": model.bias}
    for parent, effects in model.coefficients.items():
        named = {"fever": ("fever_low", "fever_high"), "policy": ("policy_high",)}.get(parent, (parent,))
        found |= dict(zip(named, effects[1:], strict=True))
    assert found == {name: float(value) for name, value in facts.items()}


def test_conditional_tables_are_distributions(respiratory: NetworkDefinition, gut: NetworkDefinition) -> None:
    for network in (respiratory, gut):
        for name in network.variables:
            if not network.is_count(name):
                sums = np.exp(network.log_conditional(name)).sum(axis=-1)
                assert sums == pytest.approx(np.ones_like(sums), abs=1e-12)


def test_causes_come_first_for_any_order_of_the_file(gut: NetworkDefinition) -> None:
    assert gut.variables[0] == "visits"
    for name in gut.variables:
        assert all(gut.order.index(parent) < gut.order.index(name) for parent in gut.parents(name))


def test_unknown_variable_is_named(respiratory: NetworkDefinition) -> None:
    with pytest.raises(NetworkError, match="no variable 'feever'; it has asthma"):
        respiratory.values("feever")


Spoil = Callable[[dict[str, Any]], Any]
BAD: dict[str, tuple[Spoil, str]] = {
    "cycle": (
        lambda v: v["smoking"].update(parents=["pneumonia"], table={"no": [0.8, 0.2], "yes": [0.8, 0.2]}),
        r"node \w+, entry parents: cycle (smoking|COPD|pneumonia) <- \w+ <- \w+ <- \w+",
    ),
    "unknown parent": (
        lambda v: v["COPD"].update(parents=["smokes"]),
        "node COPD, entry parents: unknown parent 'smokes'",
    ),
    "count as parent": (lambda v: v["COPD"].update(parents=["days_at_home"]), "days_at_home is a count"),
    "parent twice": (lambda v: v["COPD"].update(parents=["smoking", "smoking"]), "node COPD.*duplicate parent"),
    "probability above 1": (
        lambda v: v["asthma"].update(table=[-0.2, 1.2]),
        "node asthma, entry table.no: found -0.2; expected a probability",
    ),
    "probability not a number": (
        lambda v: v["asthma"].update(table=[0.9, "0.1"]),
        "node asthma, entry table.yes: found '0.1'; expected a finite number",
    ),
    "nan": (lambda v: v["asthma"].update(table=[float("nan"), 0.1]), "node asthma, entry table.no: found nan"),
    "true as a number": (lambda v: v["asthma"].update(table=[False, True]), "entry table.no: found False"),
    "sum": (
        lambda v: v["fever"]["table"].update({"no/yes": [0.7, 0.2, 0.05]}),
        "node fever, entry table.no/yes: .*0.95",
    ),
    "missing combination": (
        lambda v: v["fever"]["table"].pop("yes/no"),
        "node fever, entry table: no row for the parent combination yes/no of pneumonia/common_cold",
    ),
    "unknown value in combination": (
        lambda v: v["fever"]["table"].update({"no/maybe": [1, 0, 0]}),
        "node fever, entry table.no/maybe: unknown value 'maybe' of common_cold",
    ),
    "combination too short": (
        lambda v: v["fever"]["table"].update({"no": [1, 0, 0]}),
        "node fever, entry table.no: expected one value for each",
    ),
    "too few probabilities": (lambda v: v["fever"]["table"].update({"no/no": [0.5, 0.5]}), "fever, entry table.no/no"),
    "unquoted no": (
        lambda v: v["COPD"].update(table={False: [1, 0], True: [1, 0]}),
        "COPD, entry table.False.*in quotes",
    ),
    "unquoted values": (lambda v: v["asthma"].update(values=[False, True]), "asthma, entry values: found False"),
    "value twice": (lambda v: v["asthma"].update(values=["no", "no"]), "asthma, entry values: duplicate value"),
    "one value": (lambda v: v["asthma"].update(values=["no"]), "asthma, entry values"),
    "unknown type": (lambda v: v["asthma"].update(type="symtom"), "asthma, entry type: found 'symtom'"),
    "no type": (lambda v: v["asthma"].pop("type"), "asthma, entry type: found None"),
    "unknown key": (lambda v: v["asthma"].update(parent=["x"]), "node asthma: unknown key"),
    "two distributions": (lambda v: v["asthma"].update(logistic={}), "asthma: found .*exactly one of"),
    "no distribution": (lambda v: v["asthma"].pop("table"), "asthma: found no distribution"),
    "leak": (lambda v: v["cough"]["noisy_or"].update(leak=1.5), "node cough, entry noisy_or.leak: found 1.5"),
    "cause": (
        lambda v: v["cough"]["noisy_or"]["causes"].update(asthma=-0.1),
        "node cough, entry noisy_or.causes.asthma: found -0.1",
    ),
    "missing cause": (
        lambda v: v["cough"]["noisy_or"]["causes"].pop("asthma"),
        "node cough, entry noisy_or.causes: nothing for the parent 'asthma'",
    ),
    "cause that is no parent": (
        lambda v: v["cough"]["noisy_or"]["causes"].update(season=0.1),
        "node cough, entry noisy_or.causes: unknown parent 'season'",
    ),
    "one number for three values": (
        lambda v: v["antibiotics"]["logistic"]["coefficients"].update(fever=1),
        "node antibiotics, entry logistic.coefficients.fever: found 1; expected one number for each of low, high",
    ),
    "unknown value of a coefficient": (
        lambda v: v["antibiotics"]["logistic"]["coefficients"]["fever"].update(mild=1),
        "entry logistic.coefficients.fever: unknown value 'mild'",
    ),
    "missing model": (
        lambda v: v["days_at_home"]["poisson"]["models"].pop("yes"),
        "node days_at_home, entry poisson.models: nothing for the value of antibiotics 'yes'",
    ),
    "by no parent": (
        lambda v: v["days_at_home"]["poisson"].update(by="season"),
        "entry poisson.by: 'season' is not a parent",
    ),
    "noisy-OR of three values": (
        lambda v: v["fever"].update(noisy_or=v["fever"].pop("table")),
        "node fever, entry noisy_or: needs two values",
    ),
    "poisson with values": (lambda v: v["days_at_home"].update(values=["0", "1"]), "days_at_home, entry poisson"),
    "reserved name": (lambda v: v.update(record=v["asthma"]), "node record: a variable's name"),
    "recorded": (lambda v: v["asthma"].update(recorded="no"), "asthma, entry recorded"),
}


@pytest.mark.parametrize(("spoil", "message"), BAD.values(), ids=BAD.keys())
def test_bad_file_is_rejected_with_node_and_entry(spoil: Spoil, message: str, tmp_path: Path) -> None:
    loaded = yaml.safe_load(RESPIRATORY.read_text(encoding="utf-8"))
    spoil(loaded["variables"])
    bad = tmp_path / "bad.yaml"
    bad.write_text(yaml.safe_dump(loaded, sort_keys=False), encoding="utf-8")
    with pytest.raises(NetworkError, match=message) as caught:
        load_definition(bad)
    assert str(bad) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nvariables:\n  a: {type: symptom}\n  a: {type: symptom}\n", "duplicate key 'a'"),
        ("name: [", "not valid YAML"),
        ("", "found NoneType"),
        ("name: x\n", "found \\['name'\\]"),
        ("name: x\nvariables: {}\n", "at least one variable"),
        ("name: x\nvariables: {a: 3}\n", "node a: expected type"),
        ("name: x\nvariables: {? [1]: {type: symptom}}\n", "not valid YAML"),
    ],
)
def test_file_that_is_no_network_is_rejected(text: str, message: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(text, encoding="utf-8")
    with pytest.raises(NetworkError, match=message):
        load_definition(bad)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=r"absent\.yaml: cannot be read"):
        load_definition(tmp_path / "absent.yaml")
