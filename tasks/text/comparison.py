"""The rule by which prompts compare two wordings, so that entailment, omissions and mapped phrases are judged alike."""

COMPARISON = (
    "How to compare wordings: abbreviations, shorthand, synonyms, word order and units that go without saying do not "
    'matter, nor do shades ("about", "appears", "slightly", "reports") or what is said in addition. A wording is found '
    "in part when its number, time, dose, frequency, side, place or severity (mild, severe) is missing, or when what "
    "it states as certain is given as possible or suspected only. It is not found when one of these differs, when the "
    "words concern somebody else, or when present has become absent or the reverse."
)
"""Three outcomes: found, found in part, not found. Each prompt adds what a wording found in part counts for."""
