"""Choices of the span rules that published spans do not settle, such as whether a span includes its reporting verb."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SpanSettings:
    """Choices; the defaults are in use. Cross-validation over annotated notes scores the others."""

    modifier_excess: int = 40  # characters by which a modifier after a comma may exceed its phrase
    reporting_verb: bool = True  # a mention shorter than half of its clause starts at its verb
    denied_circumstances: bool = True  # a denial includes the circumstances that follow
    whole_denied_list: bool = True  # the span of an item of a denied list is the list, where no symptom is present
    references: bool = True  # "the pain" of a pain that is present is a mention
    descriptions: bool = True  # sentences that refer back to a symptom are spans
    repeated_signs: bool = False  # normal findings count where the note has other mentions of the symptom


IN_USE = SpanSettings()
