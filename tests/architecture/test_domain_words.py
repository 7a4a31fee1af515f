"""Code, schemas and shared prompts name no symptom, condition or diagnosis of a domain: they ask for roles."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from tasks.domains.in_use import FOLDER, domain_names
from tests.architecture.code import CODE, nodes_of
from tests.support.imports import ROOT

EXEMPT = {
    "tasks/judges/span_agreement.py": "measures on SimSUM's published notes",
    "tasks/transport/epochs.py": "probes of a model's identity; other texts would change recorded identities",
    "tasks/transport/probing.py": "probes of a model's identity; other texts would change recorded identities",
    "tasks/measures/note_qa/patients.py": "habits of a patient, in any domain",
    "tasks/measures/doclens/prompts/citations.txt": "the example of a reply to questions on outside dialogues",
}
GENERAL = {"pain", "policy", "season", "smoking", "frequency"}
"""Variables whose names are words of general use; only a string constant that equals one is a finding."""
SIMULATOR = ROOT / "tasks" / "simulator"
SEVERAL_DOMAINS = {"fever"}
OWN_WORDS = {
    "respiratory": {"sputum", "phlegm", "sneez", "rhinorr", "nasal", "suffocat", "winded", "trachea", "windpipe"},
    "urinary": {"flank", "bladder", "ureter", "micturition"},
}
"""Beginnings of words about the symptoms of a domain, in addition to their names."""
GENERAL_MEDICINE = {
    "reader/data/concepts.yaml": "conditions, diagnoses, complaints, signs and drugs of all specialities",
    "reader/data/fever.yaml": "a symptom of several domains",
    "reader/data/words.yaml": "abbreviations and synonyms of all specialities",
    "writer/data/shorthand.yaml": "abbreviations of all specialities",
    "writer/data/complaints.yaml": "visits for complaints outside the domain",
    "writer/data/fever.yaml": "a symptom of several domains",
}
"""Word lists of the simulator that hold general medicine."""
PARTS_OF_THE_BODY = {
    "writer/data/settings.yaml": {"flank", "bladder", "trachea", "windpipe"},
}
"""Words of lists of the parts of the body, with sides or statements of their own, and of common verbs."""
TYPES = ("symptom", "underlying condition", "diagnosis")
FILES = sorted(
    path
    for folder in ("flows", "schemas", "tasks")
    for pattern in ("*.py", "prompts/*.txt")
    for path in (ROOT / folder).rglob(pattern)
    if not path.is_relative_to(FOLDER)
)


def load(domain: str, name: str) -> dict:
    return yaml.safe_load((FOLDER / domain / f"{name}.yaml").read_text(encoding="utf-8"))


def variables(domain: str) -> dict[str, str]:
    return {name: node["type"] for name, node in load(domain, "network")["variables"].items()}


def terms(domain: str) -> set[str]:
    """Labels and names of symptoms, conditions and diagnoses, in lower case."""
    named = [name.replace("_", " ") for name, kind in variables(domain).items() if kind in TYPES]
    return {term.lower() for term in (*load(domain, "wording")["labels"].values(), *named)} - GENERAL


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("domain", domain_names())
def test_no_code_or_shared_prompt_names_a_term_of_the_domain(domain: str) -> None:
    pattern = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(map(re.escape, terms(domain))))})(?![a-z])")
    found = {relative(p): pattern.findall(p.read_text("utf-8").lower().replace("_", " ")) for p in FILES}
    assert {path: words for path, words in found.items() if words and path not in EXEMPT} == {}


def test_no_string_of_the_code_is_the_name_of_a_variable() -> None:
    names, found = {name for domain in domain_names() for name in variables(domain)}, []
    for module, path in CODE.modules.items():
        if relative(path) not in EXEMPT and not path.is_relative_to(FOLDER):
            strings = {n.value for n in nodes_of(module) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
            found += [(module, name) for name in sorted(names & strings)]
    assert found == []


@pytest.mark.parametrize("domain", domain_names())
def test_shared_rules_of_the_simulator_name_no_symptom_of_the_domain(domain: str) -> None:
    names = [name for name, kind in variables(domain).items() if kind == "symptom"]
    labels = {load(domain, "wording")["labels"][name] for name in names} | set(names) | OWN_WORDS[domain]
    pattern = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(labels - GENERAL - SEVERAL_DOMAINS))})")
    paths = [path for kind in ("*.py", "*.yaml") for path in SIMULATOR.rglob(kind)]
    files = {path.relative_to(SIMULATOR).as_posix(): path for path in paths}
    found = {
        name: set(pattern.findall(path.read_text("utf-8").lower())) - PARTS_OF_THE_BODY.get(name, set())
        for name, path in files.items()
    }
    assert {name: words for name, words in found.items() if words and name not in GENERAL_MEDICINE} == {}


def test_every_exempt_file_exists() -> None:
    assert {path for path in EXEMPT if not (ROOT / path).is_file()} == set()
    assert {path for path in GENERAL_MEDICINE if not (SIMULATOR / path).is_file()} == set()
