"""The measure of questions about the source, answered from outputs."""

from collections.abc import Sequence

from schemas.params.llm import RoleName
from tasks.measures.declared import Declared
from tasks.measures.note_qa.judging import METRICS, NAME, Questions
from tasks.texts.document import Document


def _roles(documents: Sequence[Document]) -> Sequence[RoleName]:
    """The annotator writes questions about documents that have none."""
    lacking = any(document.questions is None for document in documents)
    return ("annotator", "answerer", "judge") if lacking else ("answerer", "judge")


MEASURE = Declared(
    NAME,
    METRICS,
    lambda plan, params: Questions(plan.systems, params.note_qa, params.seed),
    "note_qa",
    "qa",
    by_default=False,
    table="answers",
    roles=_roles,
)
