"""Reads the files that people return. They are untrusted input, so everything in them is checked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.errors import SourceError

SHOWN = 8
"""Number of problems listed in an error; further ones are only counted."""


class ReturnedFile(BaseModel):
    """The fields common to the returned files of all forms; each form adds its answers."""

    model_config = ConfigDict(extra="forbid", strict=True)
    format: str
    form: str
    rater: str
    signature: str = ""
    complete: bool = True


File = TypeVar("File", bound=ReturnedFile)


def parse_files(files: Mapping[str, str], model: type[File], form: str, problems: list[str]) -> dict[str, File]:
    """The content of returned files (name -> text), in the order of their names.

    What is not a file of the ``form``, as it is called in messages, is added to ``problems``.
    """
    parsed = {}
    for name, text in sorted(files.items()):
        try:
            parsed[name] = model.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            reason = f"not a file of the {form} form ({where}: {first['msg']})"
            problems.append(f"{name}: {reason}; ask for the file again")
    return parsed


def sent_twice(files: Mapping[str, ReturnedFile]) -> list[str]:
    """A problem for each rater and signature with more than one file."""
    sent = Counter((file.rater, file.signature.strip().casefold()) for file in files.values())
    return [f"two files of {rater} signed {name!r}; keep one" for (rater, name), n in sent.items() if n > 1]


def require_none(problems: Sequence[str], form: str) -> None:
    """Raises SourceError that lists the first SHOWN problems and counts the others."""
    if problems:
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise SourceError(f"returned {form} forms: " + "; ".join(problems[:SHOWN]) + more)
