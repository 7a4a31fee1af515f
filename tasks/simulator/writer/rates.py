"""The writer's rates (the domain's ``writer/rates.yaml``): errors, and amount of content."""

from dataclasses import dataclass
from typing import Any

from tasks.domains.in_use import domain_cache, domain_data

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


@dataclass(frozen=True)
class Rates:
    """The content of ``rates.yaml``."""

    planted: ErrorRates
    calibration: ErrorRates
    compact: dict[str, float]
    style: dict[str, Any]
    spans: dict[str, Any]
    more: dict[str, float]
    exam: dict[str, Any]
    exam_absent: dict[str, float]
    examined: dict[str, float]
    focus: dict[str, Any]
    unrelated: dict[str, Any]


_READ = ("compact", "style", "spans", "more", "exam", "exam_absent", "examined", "focus", "unrelated")


@domain_cache(maxsize=1)
def writer_rates() -> Rates:
    """Return the rates of the domain in use."""
    data = domain_data("writer/rates")
    even = {kind: data["calibration"]["note"] / len(NOTE_ERRORS) for kind in NOTE_ERRORS}
    even |= {kind: data["calibration"]["compact"] / len(COMPACT_ERRORS) for kind in COMPACT_ERRORS}
    return Rates(
        planted=ErrorRates(data["planted"]),
        calibration=ErrorRates(even),
        **{key: data[key] for key in _READ},
    )


def rates_of(model: str) -> ErrorRates:
    """Return the error rates of a model."""
    return writer_rates().calibration if model.startswith(CALIBRATION_MODEL) else writer_rates().planted
