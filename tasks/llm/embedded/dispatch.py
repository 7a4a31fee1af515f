"""Which rule answers which task: the table from a prompt's ``Task:`` line to the handler that answers it.

A handler takes a `ChatRequest` and returns the reply's text. Handlers are found by module path, so that a server that
only writes loads nothing of the judge.
"""

from collections.abc import Callable
from importlib import import_module

from tasks.llm.embedded.request import ChatRequest

Handler = Callable[[ChatRequest], str]

MODELS = ("vignette-writer", "vignette-annotator", "vignette-judge", "vignette-answerer")

_HANDLERS: dict[str, str] = {
    # task line -> "module:function" under tasks.llm.embedded
    "check a clinical note for consistency": "annotator.handlers:check_consistency",
    "extract symptom spans": "annotator.handlers:extract_spans",
    "map phrases to the compact note": "annotator.handlers:map_to_compact",
    "check that mapped phrases mean the same": "annotator.handlers:check_same_meaning",
    "correct phrases to the words of the note": "annotator.handlers:correct_phrases",
    "compare a compact note with the note": "annotator.handlers:compare_compact",
}


def complete(request: ChatRequest) -> str:
    """Answer a request by rule. A prompt whose task no rule knows gets a plain sentence that says so."""
    path = _HANDLERS.get(request.task or "")
    if path is None:
        return "I answer by rules and know no rule for this request."
    module, function = path.split(":")
    handler: Handler = getattr(import_module(f"tasks.llm.embedded.{module}"), function)
    return handler(request)
