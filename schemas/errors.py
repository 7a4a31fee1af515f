"""Errors shown to the user. Each message names the value found, the value expected, and the remedy."""

import errno
import sqlite3
from collections import Counter
from collections.abc import Hashable, Iterable
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

_REMEDIES = {
    errno.EACCES: "allow this user to use it",
    errno.EPERM: "allow this user to use it",
    errno.EROFS: "make it writable, or work in a clone that is",
    errno.ENOSPC: "free space and run again",
    errno.EDQUOT: "free space and run again",
}


class VignetteError(Exception):
    """Base class of errors shown to the user as one line without a traceback."""


class BusyError(VignetteError):
    """Another run holds the same clone."""


class ParamsError(VignetteError):
    """A key or value of params.yaml is unknown, missing or invalid."""


class TableError(VignetteError):
    """An artefact has missing or invalid columns or values."""


class SourceError(VignetteError):
    """Outside data is malformed."""


class MissingSourceError(SourceError):
    """A file of outside data is missing."""


class DomainError(VignetteError):
    """A clinical domain is unknown, or its files contradict each other."""


class NetworkError(VignetteError):
    """A network definition is invalid, or evidence does not match the network."""


class EndpointError(VignetteError):
    """An endpoint is unreachable, rejects the key, or does not serve the model."""


class IdentityError(VignetteError):
    """The model behind an endpoint differs from the one recorded in fingerprints/."""


class BudgetError(VignetteError):
    """The run-wide budget in dollars or tokens is exhausted."""


class StoreError(VignetteError):
    """The response store cannot be read or written."""


class MissingError(VignetteError):
    """Requests have no stored reply, and were noted instead of sent."""


class UnscoredError(VignetteError):
    """The share of unscored rows exceeds the limit."""


def explained(error: BaseException) -> str | None:
    """The message of a VignetteError; of the system's errors what it says, of which file, and what to do; else None."""
    if isinstance(error, VignetteError):
        return str(error)
    if isinstance(error, sqlite3.OperationalError) and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
        return f"{error}; {_REMEDIES[errno.ENOSPC]}"
    if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):  # before Python 3.13
        return f"{error}; name another path"
    if not isinstance(error, OSError):
        return None
    if error.filename is None:
        return with_remedy(error) if error.errno in _REMEDIES else None
    return f"{error.filename}: {with_remedy(error)}"


def did_you_mean(given: object, names: Iterable[object]) -> str:
    """The end of an error on an unknown name: the most similar of the known ``names``, in any case of letters.

    Empty where none is similar.
    """
    known = {str(name).lower(): name for name in names}
    near = get_close_matches(str(given).lower(), known, n=1)
    return f"; did you mean {known[near[0]]}?" if near else ""


def repeated(values: Iterable[T]) -> T | None:
    """The first value that occurs more than once."""
    return next((value for value, times in Counter(values).items() if times > 1), None)


def with_remedy(error: OSError) -> str:
    """What the system says of an error, and what to do."""
    return (
        f"{error.strerror or error}; {_REMEDIES.get(error.errno or 0, 'check the path and the free space of its disk')}"
    )


def first_cause(error: BaseException) -> BaseException:
    """The first VignetteError inside exception groups, or else the first error."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [first_cause(inner) for inner in error.exceptions]
    return min(causes, key=lambda cause: not isinstance(cause, VignetteError))
