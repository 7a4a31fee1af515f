"""Canary prompts: asked at each probe, so that a model that changes without a word is seen.

A hosted model is not deterministic, so replies are compared by likeness, and several samples of each are taken.
"""

from difflib import SequenceMatcher
from statistics import fmean

from schemas.params.llm import Role
from tasks.llm.calls import Call, Message
from tasks.llm.direct import Direct
from tasks.llm.requests import make_request

SAMPLES = 3
REPLY_TOKENS = 160

PROMPTS = (
    "In three sentences, explain to a patient why antibiotics do not help against a common cold.",
    "List seven causes of shortness of breath, each with the sign that best tells it apart. One line each.",
    "Rewrite as a hurried physician would, with abbreviations: The patient has had a productive cough for five days, "
    "no fever, and slight pain in the chest when breathing in.",
    "A note says: no wheezing, mild crackles at the right base, temperature 38.9. Which finding argues most for "
    "pneumonia, and why? Answer in two sentences.",
)


async def canary_replies(role: Role, direct: Direct) -> dict[str, list[str]]:
    """The model's replies to each prompt, as steady as its settings allow. Raises SendFailure, EndpointError."""
    steady = {"max_tokens": REPLY_TOKENS, "temperature": None if role.temperature is None else 0.0}
    settings = role.model_copy(update=steady)
    replies: dict[str, list[str]] = {}
    for prompt in PROMPTS:
        calls = [Call("canary", (Message("user", prompt),), sample=sample) for sample in range(SAMPLES)]
        replies[prompt] = [(await direct.send(make_request(call, settings, "canary")))[1].text for call in calls]
    return replies


def similarity(now: dict[str, list[str]], before: dict[str, list[str]]) -> float:
    """How alike two sets of canary replies are, 0 to 1; 1 when they have no prompt in common.

    A reply counts as alike as it is to the nearest reply of the other set (words in common order, Ratcliff and
    Obershelp as in difflib); the mean over replies and over prompts.
    """
    common = [prompt for prompt in now if prompt in before and now[prompt] and before[prompt]]
    if not common:
        return 1.0
    return fmean(fmean(_nearest(reply, before[prompt]) for reply in now[prompt]) for prompt in common)


def _nearest(reply: str, others: list[str]) -> float:
    return max(SequenceMatcher(None, reply.split(), other.split(), autojunk=False).ratio() for other in others)
