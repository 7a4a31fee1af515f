"""What MED-OMIT summarises: the dialogue up to the end of the history (Appendix A), and subjective summaries of it."""

from collections.abc import Mapping

from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row

Unscored = list[dict[str, str | None]]


class EndOfHistory(Reply):
    """The number of the last line that concerns what the patient reports."""

    last_line: int


async def truncate_dialogues(ask: Ask, dialogues: Mapping[str, str]) -> tuple[dict[str, str], Unscored]:
    """Each dialogue up to and with the last line of the history; the judge finds it. Failed ones apart."""
    lines = {key: [line for line in dialogue.split("\n") if line.strip()] for key, dialogue in dialogues.items()}
    calls = [
        Call(
            f"{key}/truncate",
            render("tasks.evaluation.med_omit", "truncate", lines=listed),
            reply=EndOfHistory,
        )
        for key, listed in lines.items()
    ]
    found: dict[str, str] = {}
    unscored: Unscored = []
    for (key, listed), answer in zip(lines.items(), await ask(calls), strict=True):
        if isinstance(answer.value, EndOfHistory) and 0 <= answer.value.last_line < len(listed):
            found[key] = "\n".join(listed[: answer.value.last_line + 1])
        else:
            reason = answer.failure or f"line {getattr(answer.value, 'last_line', None)} is not in the dialogue"
            unscored.append(unscored_row(key, "truncate", reason, answer.raw or answer.text))
    return found, unscored


async def write_summaries(ask: Ask, dialogues: Mapping[str, str]) -> tuple[dict[str, str], Unscored]:
    """A subjective summary of each (truncated) dialogue by the writer asked. Failed ones apart."""
    calls = [
        Call(f"{key}/subjective", render("tasks.evaluation.med_omit", "subjective", dialogue=dialogue))
        for key, dialogue in dialogues.items()
    ]
    found: dict[str, str] = {}
    unscored: Unscored = []
    for key, answer in zip(dialogues, await ask(calls), strict=True):
        if answer.ok and answer.text is not None:
            found[key] = answer.text.strip()
        else:
            unscored.append(unscored_row(key, "subjective", answer.failure or "no text", answer.raw))
    return found, unscored
