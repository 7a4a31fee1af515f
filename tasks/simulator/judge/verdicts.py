"""Answer entailment prompts: claims in four styles, citations, omitted facts."""

import json

from tasks.simulator.judge.entailment import align, entails
from tasks.simulator.judge.prompts import facts, numbered
from tasks.simulator.request import ChatRequest


def _verdicts(request: ChatRequest) -> list[tuple[int, bool, str]]:
    text = request.tag("text")
    return [(number, entails(text, claim), _reason(text, claim)) for number, claim in numbered(request.tag("claims"))]


def _reason(text: str, claim: str) -> str:
    best = align(text, claim)
    if best is None:
        return "The text says nothing of it."
    if best.conflict:
        return f"The nearest place of the text differs in {best.conflict}."
    return f"The nearest place of the text covers {best.coverage:.0%} of the claim's content."


def judge_plain(request: ChatRequest) -> str:
    """Reply with lines of the form ``1: 1``."""
    return "\n".join(f"{number}: {int(entailed)}" for number, entailed, _ in _verdicts(request))


def judge_cot(request: ChatRequest) -> str:
    """Reply with an explanation and a prediction for each claim."""
    return "\n".join(
        f"{number}. explanation: {reason}\n{number}. prediction: {int(entailed)}"
        for number, entailed, reason in _verdicts(request)
    )


def judge_json(request: ChatRequest) -> str:
    """Reply with verdicts as JSON."""
    return json.dumps({"verdicts": [{"claim": n, "entailed": int(entailed)} for n, entailed, _ in _verdicts(request)]})


def judge_json_cot(request: ChatRequest) -> str:
    """Reply with verdicts and reasons as JSON."""
    return json.dumps(
        {
            "verdicts": [
                {"claim": number, "explanation": reason, "entailed": int(entailed)}
                for number, entailed, reason in _verdicts(request)
            ]
        }
    )


def judge_citations(request: ChatRequest) -> str:
    """Reply whether the cited sentences entail the statement, and which of them are necessary or sufficient."""
    statement, cited = request.tag("statement"), numbered(request.tag("sentences"))
    entailed = entails("\n".join(text for _, text in cited), statement)
    supporting = []
    for number, text in cited:
        rest = "\n".join(other for at, other in cited if at != number)
        if entailed and (entails(text, statement) or not entails(rest, statement)):
            supporting.append(number)
    reason = "Together they say it." if entailed else "They do not say all of it."
    return json.dumps({"entailed": int(entailed), "explanation": reason, "supporting": supporting})


def find_omitted(request: ChatRequest) -> str:
    """Reply with the facts that the summary does not entail: in part if it has most of the fact's content."""
    summary = request.tag("summary")
    omitted = []
    for name, fact in facts(request).items():
        if not entails(summary, fact):
            best = align(summary, fact)
            part = best is not None and best.conflict is None and best.coverage > 0.5
            extent, said = ("part", "A part of it is missing.") if part else ("whole", "The summary does not have it.")
            omitted.append({"fact": name, "explanation": said, "extent": extent})
    return json.dumps({"omitted": omitted})
