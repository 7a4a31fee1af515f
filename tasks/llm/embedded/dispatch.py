"""Which rule answers which task: the table from a prompt's ``Task:`` line to the handler that answers it.

A handler takes a `ChatRequest` and returns the reply's text. Handlers are found by module path, so that a server that
only writes loads nothing of the judge.
"""

from collections.abc import Callable
from importlib import import_module

from tasks.llm.embedded.request import ChatRequest

Handler = Callable[[ChatRequest], str]

MODELS = (
    "vignette-writer",
    "vignette-writer-calibration",  # plants an error in most notes, each kind as often, so that judges can be measured
    "vignette-annotator",
    "vignette-judge",
    "vignette-answerer",
)

_HANDLERS: dict[str, str] = {
    # task line -> "module:function" under tasks.llm.embedded
    "write a clinical note": "writer.handler:write_note",
    "write a clinical note for another complaint": "writer.handler:write_note",
    "write a clinical note for other complaints": "writer.handler:write_note",
    "write three clinical notes for other complaints": "writer.handler:write_note",
    "write the compact version": "writer.handler:write_compact_version",
}


def complete(request: ChatRequest) -> str:
    """Answer a request by rule. A prompt whose task no rule knows gets a plain sentence that says so."""
    path = _HANDLERS.get(request.task or "")
    if path is None:
        return "I answer by rules and know no rule for this request."
    module, function = path.split(":")
    handler: Handler = getattr(import_module(f"tasks.llm.embedded.{module}"), function)
    return handler(request)
