"""Mentions in passing: a symptom named only as what a medicine is for, or what makes another one worse."""

import re

from tasks.simulator.clinical.findings import Finding

_PASSING = re.compile(
    r"(?:medic\w+|acetaminophen|paracetamol|ibuprofen|onset of (?:the )?|(?:accompanying|following|alongside) the |"
    r"manag\w+ (?:the|his|her|their) |reliev\w+ (?:the |of )?|"
    r"(?:intensif|worse|exacerb|aggravat|increas|trigger|provok|elicit|reproduc)\w*\b (?:\w+ )?(?:with|by|"
    r"during|when|upon)\s+"
    r"(?:[\w-]+\s+(?:[\w-]+\s+)?(?:or|and)\s+)?(?:\w+\s+)?)$",
    re.IGNORECASE,
)


def is_passing(note: str, finding: Finding) -> bool:
    """Whether a mention of a symptom is made in passing and says nothing of whether the patient has it."""
    return _PASSING.search(note, finding.sentence[0], finding.start) is not None
