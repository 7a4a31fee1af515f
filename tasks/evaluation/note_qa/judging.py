"""Has a judge decide, several times, whether answers match the right choice (EHRNoteQA, Section 4, Appendix A.3)."""

import json
import re
from collections.abc import Callable, Mapping

import pandas as pd

from schemas.tables.note_qa import LETTERS
from tasks.llm.calls import Ask, Call
from tasks.llm.prompts import render

_VERDICT = re.compile(
    r"^\W*(?:(?:(?:the|my)\s+)?(?:verdict|answer|judge?ment)\W+(?:is\W+)?)?(yes|no)\b(?!\W*(?:(?:and|or)\W+)?(?:yes|no)\b)",
    re.IGNORECASE,
)
"""A reply that begins with yes or no, and does not go on with the other."""
_COLUMNS = ["patient", "question", "version", "form", "variant", "take", "verdict", "provenance"]


JudgeCall = Callable[[Mapping, Mapping, int], Call]
"""The request to judge an output, given its row, its question and the number of the take."""


async def judge_outputs(
    outputs: pd.DataFrame, questions: pd.DataFrame, takes: int, ask: Ask, request: JudgeCall | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judge ``outputs`` (patient, question, version, form, variant, output) ``takes`` times: (JUDGEMENTS, UNSCORED).

    ``request`` makes the requests, by default `judge_call`. Each take sends the same messages with another sample
    index. A reply that begins with neither yes nor no is unscored.
    """
    by_id = questions.set_index("question").to_dict("index")
    wanted = [(row, take) for row in outputs.to_dict("records") for take in range(takes)]
    make = request or judge_call
    answers = await ask([make(row, by_id[row["question"]], take) for row, take in wanted])
    rows, unscored = [], []
    for (row, take), answer in zip(wanted, answers, strict=True):
        verdict = verdict_of(answer.text or "")
        if verdict is None:
            step = f"note_qa/judge/{row['form']}/{row['version']}/{row['variant']}/{take}"
            reason = answer.failure or "neither yes nor no"
            unscored.append((row["question"], step, reason, answer.raw or answer.text))
            continue
        key = (row["patient"], row["question"], row["version"], row["form"], row["variant"])
        rows.append((*key, take, verdict, ask.label))
    types = dict.fromkeys(_COLUMNS, "str") | {"take": "int64", "verdict": "bool"}
    columns = ["record", "step", "reason", "detail"]
    return (
        pd.DataFrame(rows, columns=_COLUMNS).astype(types),
        pd.DataFrame(unscored, columns=columns).astype(dict.fromkeys(columns, "str")),
    )


def verdict_of(reply: str) -> bool | None:
    """Whether a reply says yes; None for a reply that says neither yes nor no."""
    found = _VERDICT.match(reply)
    return None if found is None else found[1].lower() == "yes"


def judge_call(output: Mapping, question: Mapping, take: int) -> Call:
    """The request to judge one output; the right answer is the only choice of a question for free text only."""
    choices = list(zip(LETTERS, json.loads(question["choices"]), strict=False))
    text = dict(choices)[question["answer"]]
    multiple = output["form"] == "multiple_choice"
    messages = render(
        __package__,
        "judge",
        question=question["wording"],
        choices=choices if multiple else [],
        right=f"{question['answer']}: {text}" if multiple else text,
        output=output["output"],
    )
    key = f"{output['question']}/{output['form']}/{output['version']}/{output['variant']}/judge/{take}"
    return Call(key, messages, sample=take)
