"""Traits that stay the same between a patient's visits, as notes state them: sex, work, household, habits, allergies.

Notes of several records become the notes of one patient only if they agree in every trait that more than one of them
states. The record does not hold these traits: the writer invents them as context.
"""

import re
from collections.abc import Iterable, Mapping

_WORDS: dict[str, dict[str, str]] = {
    "sex": {"female": r"she|woman|female", "male": r"he|man|male"},
    "work": {
        "desk": r"desk|office|work(?:s|ing)? from home|WFH|computer work",
        "manual": r"warehouse|construction|building site|factory|farm(?:er|s|ing)?|workshop|mechanic|carpenter|cleaner",
        "teaching": r"teacher|teaches|teaching|kindergarten|nursery school",
        "care": r"nurse|care worker|hospital (?:job|work|staff)|nursing home",
        "driving": r"(?:truck|lorry|bus|taxi|delivery) driver|courier",
        "service": r"shop assistant|supermarket|restaurant|waiter|waitress|hairdresser",
        "study": r"student|university|college",
        "none": r"retired|pensioner|unemployed|out of work",
    },
    "household": {"alone": r"lives? alone|living alone", "shared": r"lives? with|living with"},
    "smoking": {
        "no": r"non-?smoker|never smoked|(?:does not|doesn't|do not) smoke|denies smoking|no smoking",
        "yes": r"smokes|(?<!non-)(?<!non)(?<!ex-)smoker(?! in)|cigarettes (?:a|per) day",
    },
    "allergies": {
        "none": r"no (?:known )?(?:drug |medication |seasonal )?allerg(?:y|ies)|NKD?A|denies (?:any )?allergies",
        "some": r"allergic to|has an allergy to",
    },
}
_TRAITS = {
    trait: {value: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for value, words in values.items()}
    for trait, values in _WORDS.items()
}


Traits = Mapping[str, frozenset[str]]
"""Values that a note states, by trait."""


def stated_traits(note: str) -> dict[str, frozenset[str]]:
    """Values of each trait that ``note`` states; traits that it does not state are absent."""
    found = {
        trait: frozenset(value for value, pattern in values.items() if pattern.search(note))
        for trait, values in _TRAITS.items()
    }
    return {trait: values for trait, values in found.items() if values}


def compatible(one: Traits, others: Iterable[Traits]) -> bool:
    """Whether the traits of a note share a value with those of each other note, for every trait that both state."""
    return all(one[trait] & other[trait] for other in others for trait in one.keys() & other.keys())
