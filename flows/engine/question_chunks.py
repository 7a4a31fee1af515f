"""Questions, answers and verdicts on one chunk of patients, for the stages of note QA."""

from collections.abc import Callable

import pandas as pd

from flows.engine.chunks import Frames
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.evaluation.note_qa.answering import answer_questions
from tasks.evaluation.note_qa.generated import generated_questions
from tasks.evaluation.note_qa.judging import judge_call, judge_outputs
from tasks.evaluation.note_qa.paper_protocol import paper_judge_call, paper_questions
from tasks.llm.calls import Ask

JUDGED = ["patient", "question", "version", "form", "variant", "output"]
"""Columns of the outputs that are judged."""
Asks = Callable[[RoleName], Ask]


async def write_questions(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Questions written by the annotator on a chunk of patients."""
    write = paper_questions if params.note_qa.protocol == "paper" else generated_questions
    questions, unscored = await write(frames["patients"], params.note_qa, ask("annotator"))
    return {"questions": questions, "unscored": unscored}


async def answer(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Answers to the questions of a chunk of patients."""
    answers, unscored = await answer_questions(frames["questions"], frames["patients"], params.note_qa, ask("answerer"))
    return {"answers": answers, "unscored": unscored}


async def judge(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Verdicts on the outputs for the questions of a chunk of patients."""
    request = paper_judge_call if params.note_qa.protocol == "paper" else judge_call
    judgements, unscored = await judge_outputs(
        frames["outputs"], frames["questions"], params.note_qa.judge_takes, ask("judge"), request
    )
    return {"judgements": judgements, "unscored": unscored}


async def answer_and_judge(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Answers to the questions of a chunk of patients, and verdicts on these and on planted answers."""
    answered = await answer(frames, ask, params)
    planted = frames["planted"].assign(version="planted")
    outputs = pd.concat([answered["answers"].assign(variant="answer")[JUDGED], planted[JUDGED]])
    judged = await judge({"questions": frames["questions"], "outputs": outputs}, ask, params)
    unscored = pd.concat([answered["unscored"], judged["unscored"]], ignore_index=True)
    return {**answered, **judged, "unscored": unscored}
