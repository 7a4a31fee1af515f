"""The rule by which prompts compare two wordings, so that entailment, omissions and mapped phrases are judged alike."""

COMPARISON = (
    "How to compare wordings: abbreviations, shorthand, synonyms, word order and units that go without saying do not "
    'matter, nor do hedges and shades ("about", "seems", "slightly", "reports"). A wording agrees in part when a '
    "number, time, dose, frequency, side, place or severity is left out. It does not agree when one of these differs, "
    "when it concerns somebody else, or when present has become absent or the reverse."
)
"""Three outcomes: agrees, agrees in part, does not agree. Each prompt adds what agreement in part counts for."""
