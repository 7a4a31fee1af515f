"""Checks the files of a domain that the simulator reads; one line for each defect, with file and key."""

from collections.abc import Iterator

from pydantic import ValidationError

from schemas.errors import DomainError
from tasks.domains.in_use import domain_data, domain_file
from tasks.domains.rules import PromptingRules, load_rules
from tasks.simulator.reader import lexicon
from tasks.simulator.writer.compact_version import shorthand_of_domain
from tasks.simulator.writer.rules import grammar, levels, plan, rule_of, writer_rates


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
    rules = load_rules()
    return [*_symptoms(rules), *_leftovers(rules), *(list(_rules(rules)) or _rules_by_rate(rules))]


def _symptoms(rules: PromptingRules) -> Iterator[str]:
    """Lines on symptoms without words, letter or rate."""
    rates = writer_rates()
    tables = {key: getattr(rates, key) for key in ("more", "exam", "exam_absent")}
    tables |= {f"spans.{key}": rates.spans[key] for key in ("present_sentence", "tail")}
    tables |= {f"focus.{key}": rates.focus[key] for key in ("exam", "history")}
    known = {item.concept for item in lexicon.symptom_items()}
    for symptom in rules.symptoms:
        label = rules.labels[symptom]
        if label not in known and not (plan().shared and symptom == plan().temperature):
            yield f"{domain_file('lexicon/symptoms')}: no entry with the concept {label!r} ({symptom})"
        if symptom not in plan().letters.values():
            yield f"{domain_file('writer/plan')}: key letters: no letter for the symptom {symptom}"
        for key in (key for key, table in tables.items() if symptom not in table):
            yield f"{domain_file('writer/rates')}: key {key}: nothing for the symptom {symptom}"


def _leftovers(rules: PromptingRules) -> Iterator[str]:
    """Lines on words for a concept or condition that nothing has."""
    shared = {item.concept for item in lexicon.shared_items("concepts")}
    for concept in lexicon.reading().replaces:
        if concept not in shared:
            where = f"{domain_file('lexicon/reading')}: key replaces"
            yield f"{where}: {concept!r} is no concept of tasks/simulator/reader/data"
    condition, file = domain_data("writer/conditions")["condition"], domain_file("writer/conditions")
    for key in ("names", "alone"):
        for label in sorted(condition.get(key, {}).keys() - set(rules.condition_labels)):
            where = f"{file}: key condition.{key}.{label}"
            yield f"{where}: no underlying condition has the label {label!r}; remove it"


def _rules(rules: PromptingRules) -> Iterator[str]:
    """Lines on rules that cannot be compiled, and on missing ones that every symptom and condition needs."""
    folder = domain_file("writer/plan").parent
    try:
        known = grammar()
    except (DomainError, ValueError) as error:
        yield str(error) if isinstance(error, DomainError) else f"{folder}: {error}"
        return
    needed = [f"error.condition.{condition}" for condition in rules.condition_labels]
    for symptom in rules.symptoms:
        scale = levels(symptom)
        needed += [f"{symptom}.{part}" for part in ("absent", "denied", *(() if scale else ("plain", "tail", "more")))]
        needed += [f"{symptom}.{part}.{level}" for part in ("np", "tail", "more") for level in scale]
    yield from (f"{folder}: no rule {name}; add it" for name in needed if name not in known)


def _rules_by_rate(rules: PromptingRules) -> Iterator[str]:
    """Lines on missing rules of questions, examinations and findings that a rate above 0 needs."""
    rates, exam = writer_rates(), plan().examination
    needed: dict[str, str] = {}
    for symptom in rules.symptoms:
        for value in levels(symptom) or ("",):
            if rates.focus["history"].get(symptom):
                needed[rule_of(f"focus.history.{symptom}", symptom, value)] = f"focus.history.{symptom}"
            if symptom in exam.focus.order and rates.focus["exam"].get(symptom):
                for suffix in exam.focus.by_region.get(symptom, [""]):
                    rule = rule_of(f"focus.exam.{symptom}", symptom, value) + suffix
                    needed[rule] = f"focus.exam.{symptom}"
    for symptom in exam.symptoms:
        if rates.exam.get(symptom):
            needed[f"{symptom}.exam"] = f"exam.{symptom}"
        if rates.exam_absent.get(symptom):
            needed[f"{symptom}.exam_absent"] = f"exam_absent.{symptom}"
        if rates.examined.get(symptom) and f"{symptom}.examined" not in grammar():
            needed[f"{symptom}.exam_absent"] = f"examined.{symptom}"
    for rule, rate in needed.items():
        if rule not in grammar():
            where = f"{domain_file('writer/plan').parent}: no rule {rule}, which {rate} of rates.yaml needs"
            yield f"{where}; add the rule or set the rate to 0"
