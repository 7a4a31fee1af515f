"""The simulator's application in the test process, with two small tasks instead of its rules."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.llm.calls import Answer, Call, Message, Reply
from tasks.simulator import dispatch
from tasks.simulator.request import ChatRequest
from tasks.simulator.writer import notes
from tests.support.faulty import Faults, faulty_app
from tests.support.hosted import serving


class Sum(Reply):
    """The sum of the numbers, and the numbers."""

    total: int
    numbers: list[int]


def numbers_of(request: ChatRequest) -> list[int]:
    """The numbers in the last line of the request."""
    return [int(word) for word in request.last.splitlines()[-1].split()]


def add(request: ChatRequest) -> str:
    """A structured reply."""
    numbers = numbers_of(request)
    return json.dumps({"total": sum(numbers), "numbers": numbers})


def tell(request: ChatRequest) -> str:
    """A plain reply."""
    return f"The numbers are {numbers_of(request)}, and there are no more of them."


@contextmanager
def rules(patch: pytest.MonkeyPatch, folder: Path, faults: Faults | None = None) -> Iterator[str]:
    """Serve ``add`` and ``tell`` as tasks of the writer; requests are logged in ``folder / journal``."""
    for function in (add, tell):  # in a module of the writer, whose code its identity is made of
        patch.setattr(notes, function.__name__, function, raising=False)
        patch.setitem(dispatch._HANDLERS, function.__name__, ("writer", f"writer.notes:{function.__name__}"))
    with serving(faulty_app(faults or Faults(), folder / "journal")) as base_url:
        yield base_url


def calls_of_rules(count: int) -> list[Call]:
    """``count`` calls of each of the two tasks."""
    kinds = (("add", Sum), ("tell", None))
    return [
        Call(f"{n}/{task}", (Message("user", f"Task: {task}\n\n{n} {n + 1} 7"),), reply=reply)
        for n in range(count)
        for task, reply in kinds
    ]


def is_right(answer: Answer) -> bool:
    """Whether an answer to one of these calls is what the task asks for."""
    n = int(answer.key.split("/")[0])
    if answer.key.endswith("add"):
        return answer.value == Sum(total=2 * n + 8, numbers=[n, n + 1, 7])
    return answer.text == f"The numbers are {[n, n + 1, 7]}, and there are no more of them."
