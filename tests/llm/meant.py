"""A well-formed reply of every kind, with the context of the request that it answers."""

import json
from dataclasses import dataclass, field
from typing import Any

from tasks.audit.errors import LocatedError, RightVersion
from tasks.judges.consistency_checks import CompactVerdict
from tasks.llm.calls import Reply
from tasks.measures.doclens.citations import CitationVerdict
from tasks.measures.doclens.evaluators import ClaimVerdicts, ExplainedVerdicts, GradedVerdicts
from tasks.measures.doclens.subclaims import Subclaims
from tasks.measures.grounding.grounding import GroundedClaims
from tasks.measures.note_qa.questions import AnswerChoices, AskedQuestion
from tasks.notes.consistency import ConsistencyReply
from tasks.people.rating_form import Rating
from tasks.spans.annotation import CorrectReply, ExtractReply, MapReply
from tasks.spans.assertion import AssertionReply
from tests.measures import med_omit_examples


@dataclass(frozen=True)
class Meant:
    """A kind of reply, the content that is meant, and the context that it is checked against."""

    kind: type[Reply]
    content: dict[str, Any]
    context: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The reply as a model writes it that makes no mistake."""
        return json.dumps(self.content)


_RATINGS = ["realism_history", "realism_physical_examination", "clinical_accuracy", "compact_content"]
MEANT = [
    Meant(Subclaims, {"claims": ["He coughs.", "He smokes."]}),
    Meant(ClaimVerdicts, {"verdicts": [{"claim": 1, "entailed": 1}, {"claim": 2, "entailed": 0}]}, {"claims": 2}),
    Meant(
        ExplainedVerdicts,
        {"verdicts": [{"claim": n, "explanation": f"Because {n}.", "entailed": n % 2} for n in (1, 2)]},
        {"claims": 2},
    ),
    Meant(
        GradedVerdicts,
        {
            "verdicts": [
                {"claim": 1, "explanation": "Said.", "extent": "whole"},
                {"claim": 2, "explanation": "In part.", "extent": "part"},
            ]
        },
        {"claims": 2},
    ),
    Meant(
        GroundedClaims,
        {
            "verdicts": [
                {"claim": 1, "explanation": "Said.", "verdict": "supported"},
                {"claim": 2, "explanation": "Not so.", "verdict": "contradicted"},
            ]
        },
        {"claims": 2},
    ),
    Meant(CitationVerdict, {"explanation": "Both say so.", "supporting": [3, 4], "entailed": 1}, {"cited": (3, 4, 6)}),
    Meant(ConsistencyReply, {"explanation": "Fever is mentioned.", "consistent": False}),
    Meant(CompactVerdict, {"differences": [{"kind": "lost", "detail": "dry"}], "same": False}),
    Meant(AskedQuestion, {"question": "Which cough?", "answer": "A dry one.", "reason": "It says so."}),
    Meant(AnswerChoices, {**{letter: f"Choice {letter}" for letter in "ABCDE"}, "reason": "So.", "correct": "B"}),
    Meant(
        Rating,
        {"reason": "So.", "penalties": ["1B/fever"], **dict.fromkeys(_RATINGS, 4), "compact_readability": 5},
        {"penalties": ["1A/cough", "1B/fever"]},
    ),
    Meant(ExtractReply, {"spans": [{"symptom": "cough", "text": "dry cough"}]}),
    Meant(CorrectReply, {"corrections": [{"phrase": "dry coughs", "correction": "dry cough"}]}),
    Meant(MapReply, {"pairs": [{"phrase": "a dry cough", "match": "dry cough"}]}),
    Meant(LocatedError, {"explanation": "The dose is too high.", "sentence": 3}, {"sentences": 5}),
    Meant(RightVersion, {"explanation": "The second dose fits.", "right": "second"}),
    Meant(AssertionReply, {"assertions": [{"number": 1, "assertion": "absent"}]}),
    *(Meant(*one) for one in med_omit_examples.MEANT),
]
