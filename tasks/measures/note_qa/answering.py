"""Has questions answered from texts, and a judge decide whether the answers match the right choice (EHRNoteQA).

Answers are given as multiple choice and in free text (Sections 4 and 4.1), and judged several times (Appendix A.3); the
letter that a multiple-choice answer names is compared with the right one. Planted answers, whose correct verdict is
known, measure the judge alone.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from schemas.params import Params
from schemas.params.measures import ANSWERER, NoteQa
from schemas.tables.note_qa import LETTERS
from schemas.tables.verdicts import LOST, verdict_table
from tasks.llm.ask_all import Unscored, ask_texts
from tasks.llm.calls import Ask, Asks, Call, unscored_row, unscored_table
from tasks.llm.prompts import render
from tasks.measures.note_qa.patients import NO_NOTES, notes_text
from tasks.measures.note_qa.truth_questions import Wording
from tasks.text.final_answer import final_letter
from tasks.texts.document import WHOLE, Tables

SCORE, ACCURACY = "score", "accuracy"
"""Metrics of verdicts on answers: by the judge, and by the letter that a multiple-choice answer names."""
PLANTED = "planted"
"""System and version of planted answers."""
ANSWERS = ["patient", "question", "version", "form", "output", "letter"]
"""Columns of answers. A failed one has no output; letter: the choice that a multiple-choice answer names, if any."""
CASES = ["patient", "question", "form", "variant", "output", "right"]
"""Columns of planted answers."""
Protocol = Literal["vignette", "paper"]
"""Whose judging: that of the project, or of the paper (`note_qa.protocol`)."""
_STREAM = 803


def forms(params: NoteQa) -> list[str]:
    """The forms in which questions are asked."""
    return ["multiple_choice", *(["free_text"] if params.free_text else [])]


async def answer(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Answers (`ANSWERS`) to the questions of a chunk of patients with each version of their notes, and unscored.

    A multiple-choice answer whose letter cannot be read is unscored by its letter, neither right nor wrong. The judge
    may understand it.
    """
    notes, own = frames["patients"], params.note_qa
    texts = {key: notes_text(group) for key, group in notes.groupby(["patient", "version"])}
    texts |= {(patient, "none"): NO_NOTES for patient in notes["patient"].unique()}
    answers, failed = await answer_from(frames["questions"], texts, own.versions, forms(own), ask("answerer"))
    chosen = answers[answers["form"].eq("multiple_choice") & answers["output"].notna()]
    unread = [
        unscored_row(row.question, f"note_qa/letter/{row.form}/{row.version}", "no last line with a letter", row.output)
        for row in chosen[chosen["letter"].isna()].itertuples()
    ]
    return {"answers": answers, "unscored": unscored_table([*failed, *unread])}


async def answer_from(
    questions: pd.DataFrame,
    texts: Mapping[tuple[str, str], str],
    versions: Sequence[str],
    forms: Sequence[str],
    ask: Ask,
) -> tuple[pd.DataFrame, Unscored]:
    """Ask every question with each text of its patient, in each form: `ANSWERS`, and the failed calls.

    ``texts``: notes by patient and version, as `notes_text` gives them.
    """
    rows = {row["question"]: row for row in questions.sort_values("question").to_dict("records")}
    calls = {}
    for (name, row), version, form in product(rows.items(), versions, forms):
        if (notes := texts.get((row["patient"], version))) is not None:
            fields = {"notes": notes, "given": notes != NO_NOTES, "question": row["wording"]}
            if form == "multiple_choice":
                fields["choices"] = list(zip(LETTERS, json.loads(row["choices"]), strict=True))
            messages = render(__package__, "answer_free" if form == "free_text" else "answer_choice", **fields)
            calls[name, version, form] = Call(f"{name}/{form}/{version}", messages)
    found, unscored = await ask_texts(
        ask, calls, lambda key: f"note_qa/answer/{key[2]}/{key[1]}", lambda text: text if text.strip() else None
    )
    answers = []
    for name, version, form in calls:
        text = found.get((name, version, form))
        letter = final_letter(text) if text is not None and form == "multiple_choice" else None
        answers.append((rows[name]["patient"], name, version, form, text, letter))
    return pd.DataFrame(answers, columns=ANSWERS), unscored


_VERDICT = re.compile(
    r"^\W*(?:(?:(?:the|my)\s+)?(?:verdict|answer|judge?ment)\W+(?:is\W+)?)?(yes|no)\b(?!\W*(?:(?:and|or)\W+)?(?:yes|no)\b)",
    re.IGNORECASE,
)
"""A reply that begins with yes or no, and does not go on with the other."""


async def judge_outputs(
    outputs: pd.DataFrame,
    questions: pd.DataFrame,
    takes: int,
    ask: Ask,
    protocol: Protocol = "vignette",
    answerer: str = ANSWERER,
) -> tuple[pd.DataFrame, Unscored]:
    """VERDICTS on answers (`ANSWERS`) of an answerer and on planted ones (`CASES`), and what could not be judged.

    Each take sends the same messages with another sample index. A reply that begins with neither yes nor no is
    unscored. The document of a verdict is the question, with the variant of a planted answer; its unit is the take.
    """
    by_id = questions.set_index("question").to_dict("index")
    given = [
        _with_truth(row, by_id[row["question"]], answerer)
        for row in outputs.astype(object).where(outputs.notna(), None).to_dict("records")
    ]
    keys = ["question", "form", "version", "variant"]
    wanted = {(*(row[name] for name in keys), take): row for row in given if row["output"] for take in range(takes)}
    calls = {key: judge_call(row, by_id[row["question"]], key[-1], protocol) for key, row in wanted.items()}
    found, unscored = await ask_texts(
        ask, calls, lambda key: f"note_qa/judge/{'/'.join(map(str, key[1:]))}", verdict_of, "neither yes nor no"
    )
    rows: list[dict[str, Any]] = []
    for row in given:
        about = {"document": row["document"], "system": row["system"], "item": WHOLE, "text": row["output"] or ""}
        about["condition"] = f"{row['form']}/{row['version']}"
        if row["kind"] is None and row["form"] == "multiple_choice":
            by_letter = {"metric": ACCURACY, "unit": "letter", "verdict": row["letter"], "judge": "letter"}
            rows.append({**about, **by_letter, "value": row["right"]})
        about |= {"metric": SCORE, "truth": row["truth"], "kind": row["kind"]}
        for take in range(takes) if row["output"] else [LOST]:
            value = found.get((*(row[name] for name in keys), take))
            rows.append({**about, "unit": str(take), "value": value})
    return verdict_table(rows, judge=ask.label), unscored


def _with_truth(row: dict[Any, Any], question: Mapping, answerer: str) -> dict[Any, Any]:
    """An answer or planted answer with what identifies its verdicts, whether it is right, and the truth of the judge.

    Whether an answer is right is certain for the letter of a question whose right answer follows from the record.
    """
    name, variant = row["question"], row.get("variant")
    if variant is not None:
        planted = {"document": f"{name} {variant}", "system": PLANTED, "version": PLANTED, "kind": variant}
        return {**row, **planted, "truth": row["right"]}
    right = None if row["letter"] is None else row["letter"] == question["answer"]
    known = {"right": right, "truth": right if question["origin"] == "truth" else None, "kind": None}
    return {**row, **known, "document": name, "system": answerer, "variant": "answer"}


def verdict_of(reply: str) -> bool | None:
    """Whether a reply says yes; None for a reply that says neither yes nor no."""
    found = _VERDICT.match(reply)
    return None if found is None else found[1].lower() == "yes"


def judge_call(output: Mapping, question: Mapping, take: int, protocol: Protocol = "vignette") -> Call:
    """The request to judge one output (Appendix A.3); in free text without choices (Section 4.1).

    The right answer is the only choice of a question for free text only. The paper's protocol does not show the
    question, and judges at temperature 0.
    """
    choices = list(zip(LETTERS, json.loads(question["choices"]), strict=False))
    text = dict(choices)[question["answer"]]
    multiple = output["form"] == "multiple_choice"
    right = f"{question['answer']}: {text}" if multiple else text
    shown = {"choices": choices if multiple else [], "right": right, "output": output["output"]}
    key = f"{output['question']}/{output['form']}/{output['version']}/{output['variant']}/judge/{take}"
    if protocol == "paper":
        return Call(key, render(__package__, "paper_judge", **shown), sample=take, temperature=0.0)
    return Call(key, render(__package__, "judge", question=question["wording"], **shown), sample=take)


REFUSAL = "I am unable to answer this question."


def planted_answers(
    questions: pd.DataFrame, wordings: Mapping[str, Sequence[Wording]], n: int, *, free_text: bool, seed: int
) -> pd.DataFrame:
    """Right and wrong answers (`CASES`) to ``n`` random questions with known truth.

    Answers use the wording of a choice and another wording; for multiple choice also the letter alone. Wrong answers
    name a wrong choice. A refusal is planted as a wrong answer to answerable questions only, since its verdict on the
    others is debatable.
    """
    truth = questions[questions["origin"] == "truth"].sort_values("question", ignore_index=True)
    rng = np.random.default_rng([seed, _STREAM])
    chosen = truth.iloc[np.sort(rng.permutation(len(truth))[:n])]
    rows = []
    for row in chosen.itertuples():
        choices = wordings[row.question]
        right = LETTERS.index(row.answer)
        wrong = int(rng.choice([i for i in range(len(LETTERS)) if i != right]))
        for form, variant, output, is_right in _variants(choices, right, wrong, free_text, row.answerable):
            rows.append((row.patient, row.question, form, variant, output, is_right))
    found = pd.DataFrame(rows, columns=CASES)
    return found.sort_values(["question", "form", "variant"], ignore_index=True)


def _variants(
    choices: Sequence[Wording], right: int, wrong: int, free_text: bool, answerable: bool
) -> list[tuple[str, str, str, bool]]:
    found = [(form, "refusal", REFUSAL, False) for form in ("multiple_choice", "free_text") if answerable]
    for name, i in (("right", right), ("wrong", wrong)):
        letter, plain = LETTERS[i], choices[i].plain
        found += [
            ("multiple_choice", f"{name}, letter", f"Answer: {letter}", i == right),
            ("multiple_choice", f"{name}, letter in a sentence", f"The correct answer is ({letter}).", i == right),
            ("multiple_choice", f"{name}, letter and text", f"{letter}: {plain}", i == right),
            ("multiple_choice", f"{name}, text", f"{plain}.", i == right),
            ("free_text", f"{name}, same words", f"{plain}.", i == right),
            ("free_text", f"{name}, framed", f"According to the notes: {plain[0].lower()}{plain[1:]}.", i == right),
            ("free_text", f"{name}, other words", f"{choices[i].other}.", i == right),
        ]
    return [one for one in found if free_text or one[0] != "free_text"]


async def judge(frames: Tables, ask: Asks, params: Params, answerer: str = ANSWERER) -> Tables:
    """Verdicts on the outputs of an answerer for the questions of a chunk of patients."""
    takes, protocol = params.note_qa.judge_takes, params.note_qa.protocol
    verdicts, unscored = await judge_outputs(
        frames["outputs"], frames["questions"], takes, ask("judge"), protocol, answerer
    )
    return {"verdicts": verdicts, "unscored": unscored_table(unscored)}


async def answer_and_judge(frames: Tables, ask: Asks, params: Params) -> Tables:
    """Verdicts on answers to the questions of a chunk of patients, and on planted answers."""
    answered = await answer(frames, ask, params)
    outputs = pd.concat([answered["answers"], frames["planted"]], ignore_index=True)
    judged = await judge({"questions": frames["questions"], "outputs": outputs}, ask, params)
    return {**judged, "unscored": pd.concat([answered["unscored"], judged["unscored"]], ignore_index=True)}
