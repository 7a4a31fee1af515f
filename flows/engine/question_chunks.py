"""Questions, answers and verdicts on one chunk of patients, for the stages of note QA."""

from collections.abc import Callable

import pandas as pd

from flows.engine.chunks import Frames
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.evaluation.note_qa.answering import answer_questions
from tasks.evaluation.note_qa.generated import generated_questions
from tasks.evaluation.note_qa.judging import judge_outputs
from tasks.llm.calls import Ask

Asks = Callable[[RoleName], Ask]


async def write_questions(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Questions written by the annotator on a chunk of patients."""
    questions, unscored = await generated_questions(frames["patients"], params.note_qa, ask("annotator"))
    return {"questions": questions, "unscored": unscored}


async def answer_and_judge(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Answers to the questions of a chunk of patients, and verdicts on these and on planted answers."""
    questions = frames["questions"]
    answers, unanswered = await answer_questions(questions, frames["patients"], params.note_qa, ask("answerer"))
    columns = ["patient", "question", "version", "form", "variant", "output"]
    outputs = pd.concat(
        [answers.assign(variant="answer")[columns], frames["planted"].assign(version="planted")[columns]]
    )
    judgements, unjudged = await judge_outputs(outputs, questions, params.note_qa.judge_takes, ask("judge"))
    unscored = pd.concat([unanswered, unjudged], ignore_index=True)
    return {"answers": answers, "judgements": judgements, "unscored": unscored}
