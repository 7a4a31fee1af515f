"""Checks that the simulator's writer has a rule for each sentence that a domain's rates may ask for."""

from collections.abc import Iterator

from tasks.domains.in_use import domain_data, domain_file
from tasks.domains.rules import load_rules
from tasks.simulator.writer.plan import levels, plan, rule_of
from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.rules import grammar


def writing_defects() -> list[str]:
    """One line for each missing rule or leftover name. Expects a domain without `simulator_defects`."""
    needed = {**_follow_ups(), **_findings()}
    rules = grammar()
    missing = [
        f"{domain_file('writer/rates').parent}: no rule {rule}, which {source} of rates.yaml needs; "
        f"add the rule or set the rate to 0"
        for rule, source in needed.items()
        if rule not in rules
    ]
    return [*missing, *_leftovers()]


def _follow_ups() -> dict[str, str]:
    """Rules of questions and examinations for a complaint, with the key of the rate that needs each."""
    rates, focus = writer_rates().focus, plan().examination.focus
    rules = {}
    for symptom in load_rules().symptoms:
        for value in levels(symptom) or ("",):
            if rates["history"][symptom]:
                rules[rule_of(f"focus.history.{symptom}", symptom, value)] = f"focus.history.{symptom}"
            if symptom in focus.order and rates["exam"][symptom]:
                for suffix in focus.by_region.get(symptom, [""]):
                    name = rule_of(f"focus.exam.{symptom}", symptom, value) + suffix
                    rules[name] = f"focus.exam.{symptom}"
    return rules


def _findings() -> dict[str, str]:
    """Rules of findings, with the key of the rate that needs each."""
    rates, rules = writer_rates(), {}
    for symptom in plan().examination.symptoms:
        if rates.exam[symptom]:
            rules[f"{symptom}.exam"] = f"exam.{symptom}"
        if rates.exam_absent[symptom]:
            rules[f"{symptom}.exam_absent"] = f"exam_absent.{symptom}"
        if rates.examined.get(symptom, 0) and f"{symptom}.examined" not in grammar():
            rules[f"{symptom}.exam_absent"] = f"examined.{symptom}"
    return rules


def _leftovers() -> Iterator[str]:
    """Lines on words for a condition that the domain does not have."""
    labels = {load_rules().labels[name] for name in load_rules().conditions}
    condition = domain_data("writer/conditions")["condition"]
    for key in ("names", "alone"):
        for label in condition.get(key, {}):
            if label not in labels:
                yield (
                    f"{domain_file('writer/conditions')}: key condition.{key}.{label}: "
                    f"no underlying condition has the label {label!r}; remove it"
                )
