"""Calls whose replies may have the form that a paper prints, for prompts of a user's folder that ask for it.

A prompt with a line ``{# reply: printed #}`` is sent without a description of our form, so that the model is shown the
user's words alone. A replaced prompt that does not name the field of our form is read in both forms. How each kind of
reply is printed: `tasks.llm.calls.Reply.from_printed`.
"""

import re
from dataclasses import replace

from schemas.errors import ParamsError
from tasks.llm.calls import Call
from tasks.llm.prompt_set import name_of, replaced, text_of

_COMMENT = re.compile(r"\{#-?\s*reply\s*:\s*(.*?)\s*-?#\}")


def in_users_form(call: Call, package: str, *names: str) -> Call:
    """``call``, whose messages are the prompts ``names`` of ``package``: in the form for which a replaced one asks.

    Raises ParamsError for a comment that names another form.
    """
    own = [name_of(package, name) for name in names]
    texts = {name: text_of(name) for name in own if name in replaced()}
    forms = {form: name for name, text in texts.items() for form in _COMMENT.findall(text)}
    if unknown := set(forms) - {"printed"}:
        form = min(unknown)
        raise ParamsError(f"prompt {forms[form]}: reply: {form} is no form of a reply; expected {{# reply: printed #}}")
    if forms:
        return replace(call, form="printed")
    fields = call.reply.model_fields if call.reply is not None else {}
    is_ours = any(f'"{field}"' in text for field in fields for text in texts.values())
    return replace(call, form="either") if texts and not is_ours else call
