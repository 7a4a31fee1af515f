"""The params on which the number of calls of each stage depends."""

from collections.abc import Callable

from schemas.params import Params
from schemas.params.llm import RoleName

PLANTED_CALLS = 19
"""Calls to the judge per planted question and take."""

Sizes = dict[RoleName, float]


def _questions(params: Params) -> int:
    qa = params.note_qa
    return sum(qa.patients_by_notes) * (qa.truth_questions + qa.generated_questions)


def _note_qa(params: Params) -> Sizes:
    qa = params.note_qa
    answers = _questions(params) * len(qa.versions)
    judged = answers * qa.free_text + PLANTED_CALLS * qa.planted_questions
    return {
        "annotator": sum(qa.patients_by_notes) * qa.generated_questions,
        "answerer": answers * (1 + qa.free_text),
        "judge": judged * qa.judge_takes,
    }


def _notes_of(section: str) -> Callable[[Params], Sizes]:
    def sizes(params: Params) -> Sizes:
        notes = min(getattr(params, section).notes, params.sample.records)
        return {"judge": notes, "writer": notes}

    return sizes


SIZES: dict[str, Callable[[Params], Sizes]] = {
    "write": lambda params: {"writer": params.sample.records},
    "filter": lambda params: {"annotator": params.sample.records, "writer": params.sample.records},
    "compact": lambda params: {"writer": params.sample.records},
    "span": lambda params: {"annotator": params.sample.records},
    "doclens": _notes_of("doclens"),
    "med_omit": _notes_of("med_omit"),
    "calibrate": _notes_of("calibrate"),
    "note_qa": _note_qa,
    "review": lambda params: {"judge": (params.review.with_symptoms + params.review.without_symptoms)},
    "planted_errors": lambda params: {"annotator": params.planted_errors.each},
}
"""Numbers to which the calls of a stage to each role are proportional, by stage."""


def most_calls(stage: str, role: RoleName, calls: int, params: Params) -> int:
    """The most calls where ``calls`` are expected: each reply is asked for again, and each note rewritten, as often as
    params allow."""
    attempts = {
        ("write", "writer"): params.write.max_tries,
        ("filter", "annotator"): params.filter.max_attempts,
        ("span", "annotator"): 1 + params.span.max_corrections,
    }.get((stage, role), 1)
    if (stage, role) == ("filter", "writer"):
        calls, attempts = params.sample.records, (params.filter.max_attempts - 1) * params.write.max_tries
    return calls * attempts * (1 + params.roles[role].reasks)


def fewest_calls(stage: str, role: RoleName, calls: int, params: Params) -> int:
    """The fewest calls where ``calls`` are expected: no note is rewritten and no span corrected."""
    records = params.sample.records
    fewest = {
        ("filter", "annotator"): records,
        ("filter", "writer"): 0,
        ("span", "annotator"): 3 * records,  # extraction, mapping to the compact note, check of the mapping
    }
    return min(calls, fewest.get((stage, role), calls))
