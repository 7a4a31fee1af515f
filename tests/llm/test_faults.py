"""With any fault of the endpoint, each call ends as an answer or as a failure with a reason."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from schemas.params.llm import Sending
from tasks.llm.calls import Answer, Call, Message
from tasks.llm.store import ResponseStore
from tasks.simulator.faults import KINDS, Faults, spoil
from tests.support.endpoints import asker, journal_lines
from tests.support.hosted import all_faults, completion
from tests.support.rules import Sum, rules

PATIENT = Sending(timeout_s=0.4, backoff_s=0.01, retries=8, concurrency=24, breaker_failures=10_000)


def calls(count: int) -> list[Call]:
    return [
        Call(
            f"{n}/{task}",
            (Message("user", f"Task: {task}\n\n{n} {n + 1} 7"),),
            reply=Sum if task == "add" else None,
        )
        for n in range(count)
        for task in ("add", "tell")
    ]


def ask(base_url: str, folder: Path, asked: list[Call], sending: Sending = PATIENT) -> list[Answer]:
    async def run() -> list[Answer]:
        with ResponseStore(folder / "responses.sqlite") as store:
            async with asker(store, base_url, sending=sending) as asking:
                return await asking(asked)

    return asyncio.run(run())


def is_right(answer: Answer) -> bool:
    n = int(answer.key.split("/")[0])
    if answer.key.endswith("add"):
        return answer.value == Sum(total=2 * n + 8, numbers=[n, n + 1, 7])
    return answer.text == f"The numbers are {[n, n + 1, 7]}, and there are no more of them."


def test_with_every_fault_at_five_percent_each_call_is_right_or_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = calls(100)
    with rules(monkeypatch, tmp_path, all_faults(0.05)) as base_url:
        answers = ask(base_url, tmp_path, asked)
    assert [answer.key for answer in answers] == [call.key for call in asked]
    assert all(is_right(answer) if answer.ok else answer.failure for answer in answers)
    assert sum(answer.ok for answer in answers) > 0.95 * len(asked)
    outcomes = Counter(outcome for _, outcome in journal_lines(tmp_path / "journal"))
    assert set(outcomes) == {"ok", *KINDS}, "every fault took place"


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_that_never_passes_is_a_failure_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    sending = PATIENT.model_copy(update={"retries": 1, "timeout_s": 0.2})
    with rules(monkeypatch, tmp_path, Faults({kind: 1.0}, retry_after_s=0.01)) as base_url:
        answers = ask(base_url, tmp_path, calls(3), sending)
    reasons = {
        "429": "HTTP 429",
        "500": "HTTP 500",
        "hang": "timeout",
        "reset": "connection failed",
        "truncated_body": "connection failed",
        "truncated_json": "its JSON stops half way|cut off at the length limit",
        "wrong_schema": "Field required|no chat completion",
        "empty": "it was empty",
        "refusal": "it was refused",
    }
    for answer in answers:
        assert answer.failure is not None and any(part in answer.failure for part in reasons[kind].split("|"))
        assert answer.text is None and answer.value is None


def test_fault_rates_are_checked() -> None:
    with pytest.raises(ValueError, match="expected kinds"):
        Faults({"flood": 0.1})
    with pytest.raises(ValueError, match="at most 1"):
        Faults({"429": 0.6, "500": 0.6})


def test_faults_occur_at_the_set_rate() -> None:
    faults = Faults({"429": 0.1, "empty": 0.2}, seed=1)
    drawn = Counter(faults.draw() for _ in range(20_000))
    assert drawn["429"] / 20_000 == pytest.approx(0.1, abs=0.01)
    assert drawn["empty"] / 20_000 == pytest.approx(0.2, abs=0.01)


def test_a_cut_plain_text_says_so() -> None:
    whole = completion("plain words here", {"model": "m"})
    assert spoil("truncated_json", whole)["choices"][0]["finish_reason"] == "length"
