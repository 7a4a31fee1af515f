"""Questions, answers and verdicts on one chunk of patients, by the project's own protocol or the paper's."""

from collections.abc import Callable

import pandas as pd

from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.calls import Ask, unscored_table
from tasks.measures.note_qa.answering import JUDGED, answer_questions, judge_call, judge_outputs
from tasks.measures.note_qa.generated import generated_questions
from tasks.measures.note_qa.paper_protocol import paper_judge_call, paper_questions
from tasks.texts.document import Tables

Asks = Callable[[RoleName], Ask]


async def write_questions(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Questions written by the annotator on a chunk of patients."""
    write = paper_questions if params.note_qa.protocol == "paper" else generated_questions
    questions, unscored = await write(frames["patients"], params.note_qa, ask("annotator"))
    return {"questions": questions, "unscored": unscored_table(unscored)}


async def answer(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Answers to the questions of a chunk of patients."""
    answers, unscored = await answer_questions(frames["questions"], frames["patients"], params.note_qa, ask("answerer"))
    return {"answers": answers, "unscored": unscored_table(unscored)}


async def judge(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Verdicts on the outputs for the questions of a chunk of patients."""
    request = paper_judge_call if params.note_qa.protocol == "paper" else judge_call
    takes, outputs, questions = params.note_qa.judge_takes, frames["outputs"], frames["questions"]
    judgements, unscored = await judge_outputs(outputs, questions, takes, ask("judge"), request)
    return {"judgements": judgements, "unscored": unscored_table(unscored)}


async def answer_and_judge(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Answers to the questions of a chunk of patients, and verdicts on these and on planted answers."""
    answered = await answer(frames, ask, params)
    planted = frames["planted"].assign(version="planted")
    outputs = pd.concat([answered["answers"].assign(variant="answer")[JUDGED], planted[JUDGED]])
    judged = await judge({"questions": frames["questions"], "outputs": outputs}, ask, params)
    unscored = pd.concat([answered["unscored"], judged["unscored"]], ignore_index=True)
    return {**answered, **judged, "unscored": unscored}
