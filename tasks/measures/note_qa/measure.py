"""The measure of questions about the source, answered from outputs."""

import json
from collections.abc import Iterator, Sequence

import pandas as pd

from schemas.params.llm import RoleName
from schemas.tables.note_qa import LETTERS
from tasks.measures.declared import Declared, Panel, Unit
from tasks.measures.note_qa.judging import METRICS, NAME, judge_questions
from tasks.texts.document import SOURCE, Document, Tables


def _roles(documents: Sequence[Document]) -> Sequence[RoleName]:
    """The annotator writes questions about documents that have none."""
    lacking = any(document.questions is None for document in documents)
    return ("annotator", "answerer", "judge") if lacking else ("answerer", "judge")


def _units(tables: Tables) -> Iterator[Unit]:
    """Each question in each form with the answer from a system's output."""
    asked = tables["questions"].set_index("question")[["wording", "choices", "answer"]]
    rows = tables[TABLE].join(asked, on="unit", how="inner")
    key = ["document", "unit", "metric"]
    wrong = rows[(rows["system"] == SOURCE) & rows["value"].le(0.5)]
    wrong_from_source = set(wrong[key].itertuples(index=False, name=None))
    for row in rows[rows["system"] != SOURCE].itertuples():
        form = row.metric.removeprefix("qa_").replace("_", " ")
        said = f"answer: {row.text}" if row.text else "no answer"
        right = json.loads(row.choices)[LETTERS.index(row.answer)]
        also = ", wrong from the source as well" if (row.document, row.unit, row.metric) in wrong_from_source else ""
        verdict = None if pd.isna(row.value) else int(row.value > 0.5)
        yield Unit(row.document, row.system, row.wording, verdict, form, f"{said}; right: {right} ({form}{also})")


TABLE = "answers"
MEASURE = Declared(
    NAME,
    METRICS,
    lambda plan, params, ask, texts: judge_questions(ask, texts, plan.systems, params.note_qa, params.seed),
    "note_qa",
    chosen_as="qa",
    by_default=False,
    table=TABLE,
    cited="questions as EHRNoteQA's (Kweon et al. 2024)",
    roles=_roles,
    of_summaries=lambda systems, params, ask, texts: judge_questions(ask, texts, systems, params.note_qa, params.seed),
    panel=Panel(
        _units,
        title="Questions about the source",
        kind="question",
        tally="answers to questions are right",
        verdict="answered rightly from the output",
        hint="Answered from this output alone, and judged against the right answer.",
    ),
)
