"""Stage `history_qa`: questions about time on the notes of patients' visits, answers, and judging."""

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.tables.verdicts import in_order
from tasks.domains.rules import history_words, rules_of
from tasks.llm.calls import Asks
from tasks.measures.note_qa.answering import answer_and_judge, planted_answers
from tasks.measures.note_qa.metrics import question_metrics
from tasks.measures.note_qa.time_questions import history_questions, notes_of_visits
from tasks.visits.facts import Worder


async def run(stage: Stage) -> None:
    """Make questions from the visits, have them answered from the notes and without, judge, and score."""
    params, seed, domain = stage.params.history_qa, stage.params.seed, stage.params.domain
    visits = stage.load("visits")
    notes, lacking = notes_of_visits(visits, stage.load("visit_notes"), params)
    worder = Worder(stage.network, rules_of(domain), history_words(domain))
    questions, wordings = history_questions(visits, notes, worder, params, seed=seed)
    planted = planted_answers(questions, wordings, params.planted_questions, free_text=params.free_text, seed=seed)
    asked = {"questions": questions, "patients": notes, "planted": planted}
    answered = await stage.in_chunks(_answer_and_judge, asked, by="patient")

    verdicts = in_order(answered["verdicts"])
    unscored = pd.concat([lacking, answered["unscored"]], ignore_index=True)
    stage.save("history_questions", questions)
    stage.save("history_qa_judged", verdicts)
    stage.save_unscored("unscored_history_qa", unscored, of=len(verdicts) + len(unscored))
    made = stage.provenance(["answerer", "judge"])
    rows = question_metrics(questions, notes, verdicts, stage=stage.name, seed=seed, provenance=made)
    stage.save_metrics("history_qa", rows)


async def _answer_and_judge(frames: Frames, ask: Asks, params: Params) -> Frames:
    own = params.model_copy(update={"note_qa": params.history_qa.answering})
    return await answer_and_judge(frames, ask, own)
