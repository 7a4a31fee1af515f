"""Checks the files of a domain that the simulator reads; one line for each defect, with file and key."""

from collections.abc import Collection, Iterator

from pydantic import ValidationError

from schemas.errors import DomainError
from tasks.domains.in_use import domain_data, domain_file, domain_folder
from tasks.domains.rules import PromptingRules, load_rules
from tasks.simulator.reader import lexicon
from tasks.simulator.writer.plan import levels, plan, rule_of
from tasks.simulator.writer.rules import grammar, writer_rates
from tasks.simulator.writer.shorthand import shorthand_of_domain

PARTS = ("tail", "more")
"""Rules of every symptom, by level for one with levels."""


def simulator_defects() -> list[str]:
    """Lines on the lexicon and the writer's files of the domain in use. Raises DomainError for a missing file."""
    files = (
        ("lexicon/reading", lexicon.reading),
        ("lexicon/symptoms", lexicon.symptom_items),
        ("writer/plan", plan),
        ("writer/rates", writer_rates),
        ("writer/shorthand", shorthand_of_domain),
    )
    for name, read in files:
        try:
            read()
        except ValidationError as error:
            file = domain_file(name)
            return [f"{file}: key {'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    return [*_lexicon(), *_letters(), *_rates(), *_rules()]


def _lexicon() -> Iterator[str]:
    shared = plan().shared and [plan().temperature or ""]
    known = {item.concept for item in lexicon.symptom_items()}
    labels = load_rules().labels
    for symptom in load_rules().symptoms:
        if labels[symptom] not in known and symptom not in shared:
            yield f"{domain_file('lexicon/symptoms')}: no entry with the concept {labels[symptom]!r} ({symptom})"
    shared_words = "tasks/simulator/reader/data"
    for concept in lexicon.reading().replaces:
        if concept not in lexicon.shared_concepts():
            yield f"{domain_file('lexicon/reading')}: key replaces: {concept!r} is no concept of {shared_words}"


def _letters() -> Iterator[str]:
    for symptom in load_rules().symptoms:
        if symptom not in plan().letters.values():
            yield f"{domain_file('writer/plan')}: key letters: no letter for the symptom {symptom}"


def _rates() -> Iterator[str]:
    rates = writer_rates()
    tables = {key: getattr(rates, key) for key in ("more", "exam", "exam_absent")}
    tables |= {f"spans.{key}": rates.spans[key] for key in ("present_sentence", "tail")}
    tables |= {f"focus.{key}": rates.focus[key] for key in ("exam", "history")}
    for key, table in tables.items():
        for symptom in load_rules().symptoms:
            if symptom not in table:
                yield f"{domain_file('writer/rates')}: key {key}: nothing for the symptom {symptom}"


def _rules() -> Iterator[str]:
    folder = domain_file("writer/plan").parent
    try:
        rules = grammar()
    except DomainError as error:
        yield str(error)
        return
    except ValueError as error:
        yield f"{folder}: {error.args[0]}"
        return
    for symptom in load_rules().symptoms:
        named = [f"{symptom}.{part}" for part in ("absent", "denied")]
        scale = levels(symptom)
        named += [f"{symptom}.{part}.{level}" for part in ("np", *PARTS) for level in scale]
        named += [] if scale else [f"{symptom}.{part}" for part in ("plain", *PARTS)]
        yield from (f"{folder}: no rule {name}; add it" for name in named if name not in rules)
    for condition in lexicon.conditions():
        if f"error.condition.{condition}" not in rules:
            yield f"{domain_file('writer/errors')}: no rule error.condition.{condition}; add it"


def writing_defects(rules: PromptingRules) -> list[str]:
    """One line for each missing rule or leftover name. Expects a domain without `simulator_defects`."""
    known, needed = grammar(), dict([*_follow_ups(rules.symptoms), *_findings()])
    where, remedy = domain_folder() / "writer", "add the rule or set the rate to 0"
    missing = [
        f"{where}: no rule {rule}, which {rate} of rates.yaml needs; {remedy}"
        for rule, rate in needed.items()
        if rule not in known
    ]
    return [*missing, *_leftovers(rules)]


def _follow_ups(symptoms: Collection[str]) -> Iterator[tuple[str, str]]:
    """Rules of questions and examinations for a complaint, each with the key of the rate that needs it."""
    rates, focus = writer_rates().focus, plan().examination.focus
    for symptom in symptoms:
        for value in levels(symptom) or ("",):
            if rates["history"][symptom]:
                yield rule_of(f"focus.history.{symptom}", symptom, value), f"focus.history.{symptom}"
            if symptom in focus.order and rates["exam"][symptom]:
                rule = rule_of(f"focus.exam.{symptom}", symptom, value)
                for suffix in focus.by_region.get(symptom, [""]):
                    yield rule + suffix, f"focus.exam.{symptom}"


def _findings() -> Iterator[tuple[str, str]]:
    """Rules of findings, each with the key of the rate that needs it."""
    rates = writer_rates()
    for symptom in plan().examination.symptoms:
        if rates.exam[symptom]:
            yield f"{symptom}.exam", f"exam.{symptom}"
        if rates.exam_absent[symptom]:
            yield f"{symptom}.exam_absent", f"exam_absent.{symptom}"
        if rates.examined.get(symptom, 0) and f"{symptom}.examined" not in grammar():
            yield f"{symptom}.exam_absent", f"examined.{symptom}"


def _leftovers(rules: PromptingRules) -> Iterator[str]:
    """Lines on words for a condition that the domain does not have."""
    labels = {rules.labels[name] for name in rules.conditions}
    condition = domain_data("writer/conditions")["condition"]
    for key in ("names", "alone"):
        for label in sorted(condition.get(key, {}).keys() - labels):
            yield (
                f"{domain_file('writer/conditions')}: key condition.{key}.{label}: "
                f"no underlying condition has the label {label!r}; remove it"
            )
