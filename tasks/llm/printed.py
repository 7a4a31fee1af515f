"""Replies in the forms that the papers print, for prompts of a user's folder that ask for them.

A prompt with a line ``{# reply: printed #}`` is sent without a description of our form, so that the model is shown the
user's words alone. A replaced prompt that does not name the field of our form is read in both forms.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from pydantic import ValidationError, ValidationInfo, model_validator

from schemas.errors import ParamsError
from tasks.llm.calls import Answer, Ask, Call, Reply
from tasks.llm.prompt_set import name_of, replaced, text_of
from tasks.llm.replies import Completion, Unusable, read_reply

_COMMENT = re.compile(r"\{#-?\s*reply\s*:\s*(.*?)\s*-?#\}")
_KEY = "printed"
"""Key of a call's context, whose value says whether the printed form is read."""


class PrintedReply(Reply):
    """Base of replies that are also read in a paper's printed form. Each kind has one field."""

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> Any:
        """JSON of the printed form as the JSON of ours; unchanged where it has another form.

        Raises ValueError for what the printed form does not allow.
        """
        return printed

    @classmethod
    def from_lines(cls, text: str, context: Mapping[str, Any]) -> Any:
        """The same for a printed form that is no JSON; None where the text has another form."""
        return None

    @model_validator(mode="before")
    @classmethod
    def _in_our_form(cls, data: Any, info: ValidationInfo) -> Any:
        context = info.context or {}
        ours = cls.from_printed(data, context) if context.get(_KEY) else data
        if ours is not data:
            cls._from_ours(ours, context)
        return ours

    @classmethod
    def _from_ours(cls, ours: Any, context: Mapping[str, Any]) -> Self:
        """The reply. Raises ValueError without pydantic's places, which are not those of the model's JSON."""
        try:
            return cls.model_validate(ours, context={**context, _KEY: False})
        except ValidationError as error:
            raise ValueError("; ".join(problem["msg"] for problem in error.errors()[:5])) from error

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **settings: Any) -> Self:
        """As pydantic's; a printed form that is no JSON is read too. Raises Unusable where its lines are not."""
        context = settings.get("context") or {}
        try:
            ours = cls.from_lines(str(json_data), context) if context.get(_KEY) else None
            if ours is not None:
                return cls._from_ours(ours, context)
        except ValueError as error:
            raise Unusable(str(error)) from error
        return super().model_validate_json(json_data, **settings)


def pairs_of(data: Any) -> list[tuple[str, str]] | None:
    """The entries of a dictionary of texts; None for JSON of another form.

    A text of quotes alone, as the papers print the empty string, is empty, as is null.
    """
    if not isinstance(data, dict) or not all(value is None or isinstance(value, str) for value in data.values()):
        return None
    return [(key, value if value and value.strip("‘’'\"“” ") else "") for key, value in data.items()]


def in_printed_form(ask: Ask, package: str, *names: str) -> Ask:
    """``ask`` for the prompts ``names`` of ``package``, which one conversation shows: reads printed forms if replaced.

    Raises ParamsError for a comment that names another form.
    """
    own = [name_of(package, name) for name in names]
    texts = {name: text_of(name) for name in own if name in replaced()}
    return _PrintedAsk(ask, tuple(texts.values()), any(_is_commented(*one) for one in texts.items())) if texts else ask


def _is_commented(name: str, text: str) -> bool:
    forms = _COMMENT.findall(text)
    if unknown := [form for form in forms if form != _KEY]:
        raise ParamsError(f"prompt {name}: reply: {unknown[0]} is no form of a reply; expected {{# reply: printed #}}")
    return bool(forms)


@dataclass(frozen=True)
class _PrintedAsk:
    """Answers calls as ``ask`` does, and reads the printed form. ``alone``: without a description of our form."""

    ask: Ask
    texts: tuple[str, ...]
    alone: bool

    @property
    def label(self) -> str:
        return self.ask.label

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        known = [self._in_both_forms(call) for call in calls]
        if not self.alone:
            return await self.ask(known)
        answers = await self.ask([replace(call, reply=None) for call in known])
        return [_read(call, answer) for call, answer in zip(known, answers, strict=True)]

    def _in_both_forms(self, call: Call) -> Call:
        fields = call.reply.model_fields if call.reply else {}
        names_ours = any(f'"{field}"' in text for field in fields for text in self.texts)
        return replace(call, context={**(call.context or {}), _KEY: self.alone or not names_ours})


def _read(call: Call, answer: Answer) -> Answer:
    if call.reply is None or answer.failure is not None:
        return answer
    try:
        value = read_reply(Completion(answer.text or "", None, None, "", None), call.reply, call.context)
    except Unusable as problem:
        return Answer(call.key, failure=f"unusable reply: {problem}".replace("Value error, ", ""), raw=answer.text)
    return replace(answer, value=value)
