"""The cases of grounding: the claims of a card, judged as those of an output whose source is the text."""

from tasks.judges.cases import Asked, Cases
from tasks.measures.grounding.grounding import ground

CASES = (
    Cases(
        "grounding",
        asked={"grounding": Asked("Does the text support the claim?", "supported claims", "unsupported claims", True)},
        place=2,
        letter="g",
        of_claims=lambda ask, questions, params: ground(ask, questions, params.doclens.claims_a_call),
    ),
)
