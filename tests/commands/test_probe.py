"""`vignette probe`: which roles it probes, and what it prints of their models."""

from pathlib import Path

import pytest

from flows.commands import probe
from flows.commands.parser import run
from flows.runtime.identities import Probed
from schemas.params import Params
from schemas.params.llm import Role, RoleName
from tasks.transport.fingerprint import Fingerprint
from tests.support.params import shipped


async def answer(params: Params, roles: list[RoleName], folder: Path) -> list[Probed]:
    """The judge is unchanged, the writer new, and the annotator changed, has none to compare with, talks nonsense."""
    names = {"endpoint": "http://x", "answered": "m"}
    epochs, canaries = {"writer": 0}, {"judge": {"a": ["b"]}, "annotator": {"a": [""]}}
    models = [Fingerprint(role, names, epochs.get(role, 2), canaries.get(role, {})) for role in roles]
    values = {"annotator": float("nan")}
    return [
        Probed(it.role, it, values.get(it.role, 0.01234), it.role != "judge", it.epoch == 0, it.role == "annotator")
        for it in models
    ]


def test_roles_are_chosen_and_their_models_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    roles = {role: Role(base_url="http://x", model=f"M {role}") for role in ("writer", "judge", "annotator")}
    monkeypatch.setattr(probe, "probe", answer)
    monkeypatch.setattr(probe, "load_params", lambda: shipped().model_copy(update={"roles": roles}))
    monkeypatch.setattr(probe, "is_of", lambda _, role: role.model == "M judge")
    writer, judge = (
        "writer: m, epoch 0: identified for the first time",
        "judge: m, epoch 2, canaries p = 0.0123: unchanged",
    )
    annotator = "annotator: m, epoch 2: changed, file rewritten"
    kept = "judge: fingerprints/judge.json is of M judge, not probed"
    for words, lines in (
        ("", [writer, judge, annotator]),
        ("--if-needed", [kept, writer, annotator]),
        ("--role judge", [judge]),
        ("--role judge --if-needed", [kept]),
    ):
        assert run(["probe", *words.split()]) == 0
        said = capsys.readouterr()
        assert said.out.splitlines() == lines
        assert ("no reply of m, epoch 2 to the canary" in said.err) == (annotator in lines)
    assert probe.would_change(probe.load_params()) == ["writer", "annotator"]
    assert capsys.readouterr().out.startswith("writer: M writer, to be probed\njudge: M judge, taken for unchanged")
