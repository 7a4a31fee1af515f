"""Route each task to its handler by the ``Task:`` line of the prompt.

A handler takes a `ChatRequest` and returns the text of the reply. Handlers are imported on first use, so that a server
that only writes does not load the judge. The subpackage of a handler determines the model that performs the task.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from tasks.simulator.request import ChatRequest

Handler = Callable[[ChatRequest], str]

MODELS = (
    "vignette-writer",
    "vignette-writer-calibration",  # plants an error in most notes, all kinds equally often, to measure judges
    "vignette-annotator",
    "vignette-judge",
    "vignette-answerer",
)

REASK = "correct your last reply"
"""Task of the client's repeat request; the handler of the request before it answers again."""

_HANDLERS: dict[str, str] = {
    # task line -> "module:function" under tasks.simulator
    "write a clinical note": "writer.notes:write_note",
    "write three clinical notes": "writer.notes:write_note",
    "write the note of a visit": "writer.visits:write_visit",
    "summarise a patient's notes": "writer.summaries:summarise",
    "write the compact version": "writer.compact_version:write_compact_version",
    "check a clinical note for consistency": "annotator.consistency:check_consistency",
    "check the note of a visit": "annotator.visits:check_visit",
    "extract symptom spans": "annotator.spans:extract_spans",
    "state what phrases assert": "annotator.assertion:state_assertions",
    "map phrases to the compact note": "annotator.mapping:map_to_compact",
    "check that mapped phrases mean the same": "annotator.mapping:check_same_meaning",
    "correct phrases to the words of the note": "annotator.mapping:correct_phrases",
    "compare a compact note with the note": "annotator.comparison:compare_compact",
    "judge claims": "judge.verdicts:judge_plain",
    "judge a claim with reasons": "judge.verdicts:judge_cot",
    "judge claims in json": "judge.verdicts:judge_json",
    "judge claims in json with reasons": "judge.verdicts:judge_json_cot",
    "judge claims in degrees": "judge.verdicts:judge_graded",
    "judge claims as a clinician reads": "judge.verdicts:judge_json_cot",
    "check claims against their source": "judge.verdicts:check_claims",
    "check a note as a clinician reads": "judge.verdicts:check_claims",
    "judge citations": "judge.verdicts:judge_citations",
    "find omitted facts": "judge.verdicts:find_omitted",
    "list subclaims": "judge.subclaims:list_subclaims",
    "list facts": "judge.subclaims:list_facts",
    "give a differential diagnosis": "judge.differential:give_differential",
    "grade the importance of facts": "judge.differential:grade_importance",
    "grade facts for the note": "judge.differential:grade_importance",
    "find supporting facts": "judge.differential:find_supporting",
    "find refuting facts": "judge.differential:find_refuting",
    "group facts by mechanism": "judge.differential:group_by_mechanism",
    "find the end of the history": "judge.subclaims:find_end_of_history",
    "write a cited compact note": "writer.citing:cited_compact",
    "write a cited impression": "writer.citing:cited_impression",
    "write a cited note": "writer.citing:cited_note",
    "write a cited question": "writer.citing:cited_question",
    "write a subjective summary": "writer.citing:subjective_summary",
    "answer a multiple-choice question": "answerer.answers:answer_choice",
    "answer a question from notes": "answerer.answers:answer_free",
    "judge an answer": "judge.answers:judge_answer",
    "rate a clinical note": "judge.rating:rate_note",
    "write a question about a patient's notes": "annotator.note_questions:write_question",
    "write answer choices": "annotator.note_questions:write_choices",
}


def family(model: str) -> str:
    """Return the family of a model, the name of the subpackage with its rules, as writer of vignette-writer."""
    return model.split("-")[1]


def modules_of(package: str) -> list[str]:
    """Return the modules with the handlers of a family."""
    found = {path.partition(":")[0] for path in _HANDLERS.values() if path.startswith(f"{package}.")}
    return sorted(f"tasks.simulator.{module}" for module in found)


def owner(task: str | None) -> str | None:
    """Return the family that performs ``task``, None for an unknown task."""
    path = _HANDLERS.get(task or "")
    return None if path is None else path.split(".")[0]


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
