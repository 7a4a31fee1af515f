"""Reads eval logs of Inspect (UK AI Security Institute) in their JSON format.

A sample's input becomes the source, its target the reference and its completion the output of the evaluated model.
"""

from collections.abc import Mapping
from typing import Any

from schemas.errors import SourceError
from tasks.progress import number_of
from tasks.texts.fields import Row
from tasks.transport.untrusted import of_form


def is_inspect_log(loaded: object) -> bool:
    """Whether parsed JSON is an eval log."""
    return isinstance(loaded, dict) and isinstance(loaded.get("eval"), dict) and "model" in loaded["eval"]


def inspect_rows(log: Mapping[str, Any], file: str, notes: list[str]) -> list[Row]:
    """One row per sample; with several epochs, each further epoch is a system of its own.

    A sample that ended with an error has no output. Named in ``notes`` are an eval that did not succeed, outputs that
    did not end by themselves, and what of inputs is not read. Raises SourceError for a log without samples.
    """
    samples, model = log.get("samples"), str(log["eval"]["model"])
    if not isinstance(samples, list) or not samples:
        raise SourceError(
            f"{file}: an eval log without samples (status {log.get('status')}); write it with log_samples"
        )
    if (status := log.get("status", "success")) != "success":
        notes.append(f"{file}: the eval did not succeed (status {status}); it has {number_of(len(samples), 'sample')}")
    rows, unread, cut = dict[str, dict[str, Any]](), set[str](), list[str]()
    for number, sample in enumerate(samples):
        place = f"{file}: sample {number}"
        if not isinstance(sample, dict) or "id" not in sample or "input" not in sample:
            raise SourceError(f"{place}: expected an object with id and input")
        with of_form(place, "expected input, target and output as Inspect writes them"):
            name, epoch = str(sample["id"]), sample.get("epoch", 1)
            given, target = sample["input"], sample.get("target")
            if not isinstance(given, str):  # then the texts of the user's messages
                messages = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
                user = [one.get("content") for one in messages if one.get("role") == "user"]
                unread |= {f"messages of {one.get('role')}" for one in messages if one.get("role") != "user"}
                parts = [part for content in user if isinstance(content, list) for part in content]
                unread |= {f"{part.get('type')} of user" for part in parts if part.get("type") != "text"}
                given = "\n\n".join(map(_content, user)) or None
            unread |= {"choices"} if sample.get("choices") else set()
            row = rows.setdefault(name, {"id": name, "source": given, "outputs": {}})
            if target := "\n".join(map(str, target)) if isinstance(target, list) else target:
                row["reference"] = target
            system = model if epoch == 1 else f"{model}, epoch {epoch}"
            if system in row["outputs"]:
                raise SourceError(f"{place}: id {name} is a duplicate in epoch {epoch}; expected each id once")
            if not sample.get("error"):
                row["outputs"][system] = _completion(sample, place)
                ends = [str(one.get("stop_reason")) for one in (sample.get("output") or {}).get("choices") or []]
                cut += [end for end in ends[:1] if end not in _WHOLE]
    if unread:
        notes.append(f"{file}: not read of the inputs: {', '.join(sorted(unread))}")
    if cut:
        notes.append(
            f"{file}: {number_of(len(cut), 'output')} ended by {', '.join(sorted(set(cut)))}; they may not be whole"
        )
    return [Row(f"{file}: sample {name}", row) for name, row in rows.items()]


_WHOLE = ("stop", "unknown", "None")
"""Reasons to stop of Inspect that do not say that an output is cut; the second is of other programs' outputs."""


def _completion(sample: Mapping[str, Any], place: str) -> str:
    output = sample.get("output") or {}
    if isinstance(output.get("completion"), str):
        return str(output["completion"])
    choices = output.get("choices") or []
    if not choices:
        raise SourceError(f"{place}: no completion in output; expected output.completion or output.choices")
    return _content(choices[0].get("message", {}).get("content"))


def _content(given: Any) -> str:
    """A message's content: a text, or the text parts of a list (reasoning and images are left out)."""
    if isinstance(given, list):
        parts = [part for part in given if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(str(part.get("text", "")) for part in parts)
    if not isinstance(given, str | None):
        raise TypeError(f"a content of {type(given).__name__}")
    return given or ""
