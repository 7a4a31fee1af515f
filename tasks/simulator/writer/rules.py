"""The writer's rates (the domain's ``writer/rates.yaml``) and the grammar of all rule files.

Rules are those of the domain in use, and those of ``data`` for every domain.
"""

from dataclasses import dataclass
from typing import Any

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data, domain_file, files_within
from tasks.simulator.resources import load
from tasks.simulator.writer.grammar import Grammar
from tasks.simulator.writer.plan import plan

NOTE_ERRORS = (
    "symptom_dropped",
    "contradicted",
    "descriptor_lost",
    "forbidden_mentioned",
    "forbidden_examined",
    "extra_condition",
    "diagnosis_named",
    "age_or_sex_named",
)
COMPACT_ERRORS = ("detail_lost", "detail_changed")
CALIBRATION_MODEL = "vignette-writer-calibration"


@dataclass(frozen=True)
class ErrorRates:
    """Probability of each kind of planted error; at most one error per text."""

    probabilities: dict[str, float]

    def total(self, kinds: tuple[str, ...]) -> float:
        """Return the probability of any of ``kinds``."""
        return sum(self.probabilities.get(kind, 0.0) for kind in kinds)


class Rates(Section):
    """The content of ``rates.yaml``, which explains each key."""

    planted: dict[str, float]
    calibration: dict[str, float]
    compact: dict[str, float]
    style: dict[str, Any]
    spans: dict[str, Any]
    more: dict[str, float]
    exam: dict[str, Any]
    exam_absent: dict[str, float]
    examined: dict[str, float]
    focus: dict[str, Any]
    unrelated: dict[str, Any]


@domain_cache(maxsize=1)
def writer_rates() -> Rates:
    """Return the rates of the domain in use."""
    return Rates.model_validate(domain_data("writer/rates"), strict=False)


def rates_of(model: str) -> ErrorRates:
    """Return the error rates of a model. The calibration model plants all kinds of a version equally often."""
    if not model.startswith(CALIBRATION_MODEL):
        return ErrorRates(writer_rates().planted)
    rates = writer_rates().calibration
    kinds = {"note": NOTE_ERRORS, "compact": COMPACT_ERRORS}
    return ErrorRates({kind: rates[version] / len(listed) for version, listed in kinds.items() for kind in listed})


SHARED_FILES = ("words", "history", "exam", "complaints")
NO_RULES = ("plan", "rates", "shorthand")
"""Files of a domain's ``writer`` folder that are no rule files."""


def flatten(tree: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten nested rule blocks to names of the form ``outer.inner``."""
    rules: dict[str, str] = {}
    for name, value in tree.items():
        rules |= flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": str(value)}
    return rules


@domain_cache(maxsize=1)
def grammar() -> Grammar:
    """Return the compiled grammar of all rule files: the domain's, and those of ``data`` for every domain."""
    rules: dict[str, str] = {}
    for name in (*SHARED_FILES, *plan().shared):
        rules |= flatten(load("writer", name))
    for name in files_within("writer"):
        if name not in NO_RULES:
            rules |= flatten(domain_data(f"writer/{name}"))
    return Grammar(rules, plan().letters, domain_file("writer/plan").parent)
