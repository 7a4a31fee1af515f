"""Route each task to its handler by the ``Task:`` line of the prompt.

A handler takes a `ChatRequest` and returns the text of the reply. Handlers are imported on first use, so that a server
that only writes does not load the reader.
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

_TASKS: dict[str, dict[str, tuple[str, ...]]] = {
    # family -> "module:function" under tasks.simulator, one for each family of prompts -> their task lines
    "writer": {
        "writer.notes:write_note": ("write a clinical note", "write three clinical notes"),
        "writer.visits:write_visit": ("write the note of a visit",),
        "writer.summaries:summarise": ("summarise a patient's notes",),
        "writer.compact_version:write_compact_version": ("write the compact version",),
        "writer.citing:cited_sentences": ("write a cited compact note", "write a cited impression"),
        "writer.citing:cited_note": ("write a cited note",),
        "writer.citing:cited_question": ("write a cited question",),
        "writer.citing:subjective_summary": ("write a subjective summary",),
    },
    "annotator": {
        "reader.checks:check": (
            "check a clinical note for consistency",
            "check the note of a visit",
            "compare a compact note with the note",
        ),
        "reader.spans:extract": ("extract symptom spans",),
        "reader.spans:assert_phrases": ("state what phrases assert",),
        "reader.spans:match_phrases": (
            "map phrases to the compact note",
            "check that mapped phrases mean the same",
            "correct phrases to the words of the note",
        ),
        "reader.answers:write_question": ("write a question about a patient's notes", "write answer choices"),
    },
    "judge": {
        "reader.verdicts:judge_claims": (
            "judge claims",
            "judge a claim with reasons",
            "judge claims in json",
            "judge claims in json with reasons",
            "judge claims in degrees",
            "judge claims as a clinician reads",
            "check claims against their source",
            "check a note as a clinician reads",
        ),
        "reader.verdicts:judge_citations": ("judge citations",),
        "reader.verdicts:find_omitted": ("find omitted facts",),
        "reader.verdicts:list_statements": ("list subclaims", "list facts", "find the end of the history"),
        "reader.diagnoses:judge_differential": (
            "give a differential diagnosis",
            "grade the importance of facts",
            "grade facts for the note",
            "find supporting facts",
            "find refuting facts",
            "group facts by mechanism",
        ),
        "reader.answers:judge_answer": ("judge an answer",),
        "reader.rating:rate_note": ("rate a clinical note",),
    },
    "answerer": {"reader.answers:answer": ("answer a multiple-choice question", "answer a question from notes")},
}
_HANDLERS = {
    task: (family, path) for family, paths in _TASKS.items() for path, tasks in paths.items() for task in tasks
}


def family(model: str) -> str:
    """Return the family of a model, as writer of vignette-writer."""
    return model.split("-")[1]


def modules_of(family: str) -> list[str]:
    """Return the modules with the handlers of a family."""
    return sorted({f"tasks.simulator.{path.partition(':')[0]}" for path in _TASKS.get(family, ())})


def owner(task: str | None) -> str | None:
    """Return the family that performs ``task``, None for an unknown task."""
    return _HANDLERS[task][0] if task in _HANDLERS else None


def complete(request: ChatRequest) -> str:
    """Answer a request by rule; a prompt with an unknown task gets a sentence that says so."""
    while request.task == REASK and len(request.messages) > 2:
        request = replace(request, messages=request.messages[:-2])
    if request.task not in _HANDLERS:
        return "I answer by rules and know no rule for this request."
    module, function = _HANDLERS[request.task][1].split(":")
    handler: Handler = getattr(import_module(f"tasks.simulator.{module}"), function)
    return handler(request)
