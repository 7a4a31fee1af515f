"""Answer a chat completion: route each task to its handler by the ``Task:`` line of the prompt.

A handler takes a `ChatRequest` and returns the text of the reply. Handlers are imported on first use, so that a process
that only writes does not load the reader. Replies have the JSON of OpenAI's API reference.
"""

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from tasks.simulator.request import ChatRequest

MODELS = (
    "vignette-writer",
    "vignette-writer-calibration",  # plants an error in most notes, all kinds equally often, to measure judges
    "vignette-annotator",
    "vignette-judge",
    "vignette-answerer",
)

REASK = "correct your last reply"
"""Task of the client's repeat request; the handler of the request before it answers again."""

_TASKS: dict[str, dict[str, str]] = {
    # family -> "module:function" under tasks.simulator, one for each family of prompts -> their task lines
    "writer": {
        "writer.notes:write_note": "write a clinical note | write three clinical notes",
        "writer.visits:write_visit": "write the note of a visit",
        "writer.summaries:summarise": "summarise a patient's notes",
        "writer.compact_version:write_compact_version": "write the compact version",
        "writer.citing:cited_sentences": "write a cited compact note | write a cited impression",
        "writer.citing:cited_note": "write a cited note",
        "writer.citing:cited_question": "write a cited question",
        "writer.citing:subjective_summary": "write a subjective summary",
    },
    "annotator": {
        "reader.checks:check": (
            "check a clinical note for consistency | check the note of a visit | compare a compact note with the note"
        ),
        "reader.spans:extract": "extract symptom spans",
        "reader.spans:assert_phrases": "state what phrases assert",
        "reader.spans:match_phrases": (
            "map phrases to the compact note | check that mapped phrases mean the same"
            " | correct phrases to the words of the note"
        ),
        "reader.answers:write_question": "write a question about a patient's notes | write answer choices",
    },
    "judge": {
        "reader.verdicts:judge_claims": (
            "judge claims | judge a claim with reasons | judge claims in json | judge claims in json with reasons"
            " | judge claims in degrees | judge claims as a clinician reads | check claims against their source"
            " | check a note as a clinician reads"
        ),
        "reader.verdicts:judge_citations": "judge citations",
        "reader.verdicts:find_omitted": "find omitted facts",
        "reader.verdicts:list_statements": "list subclaims | list facts | find the end of the history",
        "reader.verdicts:judge_differential": (
            "give a differential diagnosis | grade the importance of facts | grade facts for the note"
            " | find supporting facts | find refuting facts | group facts by mechanism"
        ),
        "reader.answers:judge_answer": "judge an answer",
        "reader.checks:rate_note": "rate a clinical note",
    },
    "answerer": {
        "reader.answers:answer": "answer a multiple-choice question | answer a question from notes",
    },
}
_TOKEN = re.compile(r"\w+|[^\w\s]")
_HANDLERS = {
    task: (family, path)
    for family, paths in _TASKS.items()
    for path, tasks in paths.items()
    for task in tasks.split(" | ")
}


def family(model: str) -> str:
    """Return the family of a model, as writer of vignette-writer."""
    return model.split("-")[1]


def modules_of(family: str) -> list[str]:
    """Return the modules with the handlers of a family."""
    return sorted({f"tasks.simulator.{path.partition(':')[0]}" for path in _TASKS.get(family, ())})


class Rejected(Exception):
    """A request that the simulator rejects, with HTTP ``status`` and error ``code``."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def unknown_model(name: str) -> Rejected:
    """Return the error of a request to another model."""
    return Rejected(404, "model_not_found", f"unknown model {name!r}; available: {', '.join(MODELS)}")


def chat_completion(body: dict[str, Any]) -> dict[str, Any]:
    """Answer the body of ``POST /v1/chat/completions``. Words and punctuation marks are counted as tokens.

    Raises Rejected for an unknown model, malformed messages, or a task that belongs to another model.
    """
    try:
        request = ChatRequest.from_body(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Rejected(400, "invalid_request_error", f"not a chat completion request: {error!r}") from error
    if request.model not in MODELS:
        raise unknown_model(request.model)
    owner, limit, finish = _HANDLERS.get(request.task or "", ("", ""))[0], request.max_tokens, "stop"
    if owner not in ("", family(request.model)):
        message = f"{request.model} does not perform the task {request.task!r}; send it to the {owner}"
        raise Rejected(404, "wrong_model", message)
    text = complete(request)
    ends = [match.end() for match in _TOKEN.finditer(text)]
    if limit is not None and len(ends) > limit:
        text, finish, ends = text[: ends[limit - 1]], "length", ends[:limit]
    asked = sum(len(_TOKEN.findall(said)) for _, said in request.messages)
    return {
        "id": "chatcmpl-" + hashlib.sha256(repr((request, text)).encode()).hexdigest()[:24],
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "system_fingerprint": "rules",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": finish,
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": asked, "completion_tokens": len(ends), "total_tokens": asked + len(ends)},
    }


def complete(request: ChatRequest) -> str:
    """Answer a request by rule; a prompt with an unknown task gets a sentence that says so."""
    while request.task == REASK and len(request.messages) > 2:
        request = replace(request, messages=request.messages[:-2])
    if request.task not in _HANDLERS:
        return "I answer by rules and know no rule for this request."
    module, function = _HANDLERS[request.task][1].split(":")
    handler: Callable[[ChatRequest], str] = getattr(import_module(f"tasks.simulator.{module}"), function)
    return handler(request)
