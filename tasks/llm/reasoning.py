"""Takes off the reasoning that models write before an answer, by the marks of their chat templates."""

import re
from itertools import islice

_STEMS = "think|thought|reasoning|reflection|scratchpad|deliberat|monologue"
_NAMES = "(?:seed:)?(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)"
_END = re.compile(
    rf"</{_NAMES}>|\[/think(?:ing)?\]|◁/think▷|<\|(?:end_of_thought|end_thinking)\|>"
    r"|<\|channel\|>final(?:\s*<\|constrain\|>\w+)?<\|message\|>|assistantfinal|^\.\.\.done thinking\.?[ \t]*$"
    r"|\AHere is my thought process:(?s:.*?)^Here is my response:",
    re.IGNORECASE | re.MULTILINE,
)
"""Ends of reasoning whose beginning may be part of the prompt; ``assistantfinal``: marks of gpt-oss, stripped."""
_OPENING = re.compile(
    rf"<\|?([^\W\d][\w.:-]*)(?:\s[^<>]*)?\|?>|\[(think(?:ing)?)\]|◁(\w+)▷|```(\w*(?:{_STEMS})\w*)\n", re.IGNORECASE
)
_IS_REASONING = re.compile(rf"{_STEMS}|^\W*(?:analysis\b|channel\b|unused\d|cot\b|思考)", re.IGNORECASE)
_IS_ANSWER = re.compile(
    r"(?:begin_of_|start_)?(?:final[_-]?)?(?:answer|output|response|result|reply|solution|summary|box)", re.IGNORECASE
)
_IS_HTML = re.compile(r"a|b|body|br|center|code|div|em|font|h[1-6]|html|i|li|ol|p|pre|span|strong|table|u|ul", re.I)

_STARTS = re.compile(
    r"\s*(?:(?:<s>|<bos>|<\|(?:begin_of_|startof)text\|>|<start_of_turn>|<\|(?:im_start|start|start_header_id|assistant)\|>)\s*"
    r"(?:(?:assistant|model)\b)?(?:<\|end_header_id\|>)?\s*)+"
)
_ENDS = re.compile(
    r"<\|(?:im_end|end|end_of_text|endoftext|eom_id|eot|eot_id|return|END_OF_TURN_TOKEN)\|>|<end_of_turn>|<eos>"
    r"|</s>\s*(?:\Z|(?:<s>\s*)?\[INST\])|<(?:\|(?!/|(?i:end))[\w-]+\||｜[\w▁]+｜)>\s*\Z"
)
"""Marks of the beginning and end of a turn, which a server with another template than the model's leaves in; at the end
of a text, any token of a template.
"""

_MOST_BLOCKS = 10
_FENCE = "```"
UNENDED, ALONE = "its reasoning does not end", "it holds reasoning and no answer"


def answer_part(text: str) -> tuple[str, str]:
    """``text`` without the reasoning before the answer and without marks around it; and why that leaves nothing.

    What follows the end of the turn is left out: a model that is not stopped there writes the next one. That end is the
    first with an answer before it: others are within reasoning, or end it.
    """
    if start := _STARTS.match(text):
        text = text[start.end() :]
    for end in (*(found.start() for found in islice(_ENDS.finditer(text), _MOST_BLOCKS)), None):
        answer, lacks = _without_reasoning(text[:end])
        if answer.strip():
            break
    return answer, lacks


def _without_reasoning(text: str) -> tuple[str, str]:
    if ends := [found.end() for found in _END.finditer(text)]:
        text = text[ends[-1] :].lstrip()
        if not text:
            return "", ALONE
    for _ in range(_MOST_BLOCKS):
        opening, name, inner, rest = _leading_block(text) or ("", "", "", None)
        if _IS_REASONING.search(opening):
            if not (rest and rest.strip()):
                return "", UNENDED if rest is None else ALONE
            text = rest.lstrip()
        elif rest is not None and not rest.strip() and _IS_ANSWER.fullmatch(name):
            text = inner.strip()
        else:
            break
    end = _ENDS.search(text)
    return (text[: end.start()].rstrip() if end else text), ""


def unknown_block(text: str) -> str | None:
    """The mark of a block ahead of an answer that may be reasoning; None where there is none, or all is marked up."""
    opening, name, inner, rest = _leading_block(text) or ("", "", "", None)
    if rest is None and opening.startswith("<|"):  # a token of a template, and no text
        return opening
    if rest is None or not rest.strip() or _IS_HTML.fullmatch(name) or _OPENING.match(rest.lstrip()):
        return None
    return opening if "\n" in inner or rest.startswith("\n") else None


def _leading_block(text: str) -> tuple[str, str, str, str | None] | None:
    """Opening mark, name and content of the block at the beginning of ``text``, and what follows; None if not ended."""
    text = text.strip()
    opening = _OPENING.match(text)
    if opening is None:
        return None
    name = next(filter(None, opening.groups()))
    end = re.sub(r"^(?:begin|start)|(?:begin|start)$", "end", name, flags=re.IGNORECASE)
    closing = [f"</{name}>", f"<|/{name}|>", f"<{name}|>", f"[/{name}]", f"◁/{name}▷"]
    closing += [f"<|{end}|>", f"<{end}>"] if end != name else []
    if opening[0].startswith(_FENCE):
        closing = [f"\n{_FENCE}"]
    elif name.lower().startswith("unused"):  # Gemma's tokens, one after the other
        closing = [f"<unused{int(name[6:] or 0) + 1}>"]
    elif name == "channel":
        closing = ["<|channel|>final<|message|>", "<channel|>"]
    found = re.compile("|".join(map(re.escape, closing)), re.IGNORECASE).search(text, opening.end())
    inner, rest = (text[opening.end() :], None) if found is None else (text[opening.end() : found.start()], "")
    return opening[0], name, inner, rest if found is None else text[found.end() :]
