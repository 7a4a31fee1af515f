"""Reads eval logs of Inspect (UK AI Security Institute) in their JSON format.

A sample's input becomes the source, its target the reference and its completion the output of the evaluated model.
"""

from collections.abc import Mapping
from typing import Any

from schemas.errors import SourceError
from tasks.texts.fields import Row
from tasks.transport.untrusted import of_form


def is_inspect_log(loaded: object) -> bool:
    """Whether parsed JSON is an eval log."""
    return isinstance(loaded, dict) and isinstance(loaded.get("eval"), dict) and "model" in loaded["eval"]


def inspect_rows(log: Mapping[str, Any], file: str) -> list[Row]:
    """One row per sample; with several epochs, each further epoch is a system of its own.

    A sample that ended with an error has no output. Raises SourceError for a log without samples.
    """
    samples, model = log.get("samples"), str(log["eval"]["model"])
    if not isinstance(samples, list) or not samples:
        raise SourceError(
            f"{file}: an eval log without samples (status {log.get('status')}); write it with log_samples"
        )
    rows: dict[str, dict[str, Any]] = {}
    for number, sample in enumerate(samples):
        place = f"{file}: sample {number}"
        if not isinstance(sample, dict) or "id" not in sample or "input" not in sample:
            raise SourceError(f"{place}: expected an object with id and input")
        with of_form(place, "expected input, target and output as Inspect writes them"):
            name, epoch = str(sample["id"]), sample.get("epoch", 1)
            row = rows.setdefault(name, {"id": name, "source": _input(sample["input"]), "outputs": {}})
            if target := _target(sample.get("target")):
                row["reference"] = target
            system = model if epoch == 1 else f"{model}, epoch {epoch}"
            if system in row["outputs"]:
                raise SourceError(f"{place}: id {name} is a duplicate in epoch {epoch}; expected each id once")
            if not sample.get("error"):
                row["outputs"][system] = _completion(sample, place)
    return [Row(f"{file}: sample {name} (Inspect)", row) for name, row in rows.items()]


def _input(given: Any) -> str | None:
    """The input, or the text of the user's messages."""
    if isinstance(given, str):
        return given
    messages = [message for message in given if isinstance(message, dict)] if isinstance(given, list) else []
    return "\n\n".join(_content(one.get("content")) for one in messages if one.get("role") == "user") or None


def _target(given: Any) -> str | None:
    return "\n".join(map(str, given)) if isinstance(given, list) else given


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
