"""Calls lost to transport errors are retried by the next run; until then the stage is unfinished."""

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import EndpointError, IdentityError
from tests.support.hosted import Body, completion, hosted
from tests.support.scenarios import refuses, run_stage


def test_a_stage_with_lost_calls_is_unfinished_and_its_next_run_asks_only_for_them(tmp_path: Path) -> None:
    failures = iter(range(2))  # of both attempts in the first run

    def reply(body: Body, _: int) -> Any:
        is_lost = "hello 3" in str(body["messages"]) and next(failures, None) is not None
        return refuses(500, "boom") if is_lost else completion("fine", body)

    with hosted(reply) as endpoint:
        with pytest.raises(EndpointError, match=r"1 calls failed on the way.*3/test.*boom.*accept_lost_calls: true"):
            run_stage(endpoint, tmp_path)
        sent = len(endpoint.bodies)
        assert all(run_stage(endpoint, tmp_path))
        assert len(endpoint.bodies) == sent + 2, "the check of identity and the lost call"


def test_lost_calls_can_be_accepted_and_failures_by_content_always_are(tmp_path: Path) -> None:
    wrong = {
        "hello 1": refuses(400, "filtered", code="content_filter"),
        "hello 2": {"object": "error"},
        "hello 3": refuses(500, "boom"),
    }

    def reply(body: Body, _: int) -> Any:
        return next((said for part, said in wrong.items() if part in str(body["messages"])), completion("fine", body))

    with hosted(reply) as endpoint:
        assert run_stage(endpoint, tmp_path, accept_lost_calls=True) == [True, False, False, False, True, True]
        del wrong["hello 3"]
        assert run_stage(endpoint, tmp_path) == [True, False, False, True, True, True]


def test_a_stage_refuses_a_role_whose_model_is_not_the_probed_one(tmp_path: Path) -> None:
    with (
        hosted(lambda body, _: completion("fine", body)) as endpoint,
        pytest.raises(IdentityError, match=r"asked is 'big-2', recorded is 'big-1'.*vignette probe --role judge"),
    ):
        run_stage(endpoint, tmp_path, model="big-2")
