"""Route each task to its handler by the ``Task:`` line of the prompt.

A handler takes a `ChatRequest` and returns the text of the reply. Handlers are imported on first use, so that a server
that only writes does not load the judge. The subpackage of a handler determines the model that performs the task.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from tasks.simulator.request import ChatRequest

Handler = Callable[[ChatRequest], str]

MODELS = (
    "vignette-writer",
    "vignette-writer-calibration",  # plants an error in most notes, all kinds equally often, to measure judges
    "vignette-writer-second",  # words symptoms as in the domain's second wording, which the annotator may not know
    "vignette-annotator",
    "vignette-judge",
    "vignette-answerer",
)

REASK = "correct your last reply"
"""Task of the client's repeat request; the handler of the request before it answers again."""

_HANDLERS: dict[str, str] = {
    # task line -> "module:function" under tasks.simulator
    "write a clinical note": "writer.notes:write_note",
    "write a clinical note for another complaint": "writer.notes:write_note",
    "write a clinical note for other complaints": "writer.notes:write_note",
    "write three clinical notes for other complaints": "writer.notes:write_note",
    "write the compact version": "writer.compact_version:write_compact_version",
    "check a clinical note for consistency": "annotator.handlers:check_consistency",
    "extract symptom spans": "annotator.handlers:extract_spans",
    "map phrases to the compact note": "annotator.handlers:map_to_compact",
    "check that mapped phrases mean the same": "annotator.handlers:check_same_meaning",
    "correct phrases to the words of the note": "annotator.handlers:correct_phrases",
    "compare a compact note with the note": "annotator.handlers:compare_compact",
    "judge claims": "judge.verdicts:judge_plain",
    "judge claims with reasons": "judge.verdicts:judge_cot",
    "judge claims in json": "judge.verdicts:judge_json",
    "judge claims in json with reasons": "judge.verdicts:judge_json_cot",
    "judge citations": "judge.verdicts:judge_citations",
    "find omitted facts": "judge.verdicts:find_omitted",
    "list subclaims": "judge.subclaims:list_subclaims",
    "list facts": "judge.subclaims:list_facts",
    "give a differential diagnosis": "judge.differential:give_differential",
    "grade the importance of facts": "judge.differential:grade_importance",
    "find supporting facts": "judge.differential:find_supporting",
    "find refuting facts": "judge.differential:find_refuting",
    "group facts by mechanism": "judge.differential:group_by_mechanism",
    "find the end of the history": "judge.dialogue:find_end_of_history",
    "write a cited compact note": "writer_citing.handlers:cited_compact",
    "write a cited impression": "writer_citing.handlers:cited_impression",
    "write a cited note": "writer_citing.handlers:cited_note",
    "write a cited question": "writer_citing.handlers:cited_question",
    "write a subjective summary": "writer_citing.handlers:subjective_summary",
    "answer a multiple-choice question": "answerer.choosing:answer_choice",
    "answer a question from notes": "answerer.free_text:answer_free",
    "judge an answer": "judge.answers:judge_answer",
    "rate a clinical note": "judge.rating:rate_note",
    "write a question about a patient's notes": "annotator.note_questions:write_question",
    "write answer choices": "annotator.note_questions:write_choices",
}


def family(model: str) -> str:
    """Return the family of a model: ``writer`` for ``vignette-writer`` and ``vignette-writer-calibration``."""
    return model.split("-")[1]


def owner(task: str | None) -> str | None:
    """Return the family that performs ``task``, None for an unknown task; ``writer_citing`` belongs to the writer."""
    path = _HANDLERS.get(task or "")
    return None if path is None else re.split("[.:_]", path)[0]


def packages(model: str) -> list[str]:
    """Return the subpackages that contain the rules of ``model``."""
    return sorted({re.split("[.:]", path)[0] for task, path in _HANDLERS.items() if owner(task) == family(model)})


def complete(request: ChatRequest) -> str:
    """Answer a request by rule; a prompt with an unknown task gets a sentence that says so."""
    while request.task == REASK and len(request.messages) > 2:
        request = replace(request, messages=request.messages[:-2])
    path = _HANDLERS.get(request.task or "")
    if path is None:
        return "I answer by rules and know no rule for this request."
    module, function = path.split(":")
    handler: Handler = getattr(import_module(f"tasks.simulator.{module}"), function)
    return handler(request)
