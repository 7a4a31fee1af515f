"""Of a role's address and settings, no user, password, query or header value is printed or recorded anywhere."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from flows.commands.parser import run
from flows.evaluation.audit import make_audit
from flows.evaluation.cards import provenance
from flows.evaluation.folder import model_of
from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.verdicts import VERDICTS
from tasks.tracking.lineage import read_lineage
from tasks.tracking.recording import Recording, flat_params, lineage_params
from tasks.transport.fingerprint import Fingerprint, fingerprint_path
from tasks.transport.shown import public_params, public_url
from tests.support.params import shipped
from tests.support.report_page import page_of, shown_note

SECRETS = ("some-one", "pass-word", "query-key", "version-key", "header-key", "store-key")
ROLE = {
    "base_url": "https://some-one:pass-word@models.test/v1?key=query-key",
    "model": "big",
    "query": {"api-version": "version-key"},
    "headers": {"X-Project": "header-key"},
}


@pytest.fixture
def private() -> Params:
    """Params in which each place that can hold a secret holds one."""
    roles = dict.fromkeys(("writer", "annotator", "judge", "answerer"), ROLE)
    return shipped(
        roles=roles,
        note_qa_outside={"answerers": {"another": ROLE}},
        runtime={"store": "postgresql+psycopg://some-one:store-key@base.test/replies"},
    )


def announced(params: Params, folder: Path) -> str:
    """What `vignette audit` prints before it asks anything."""
    file = folder / "params.yaml"
    file.write_text(yaml.safe_dump(params.model_dump(mode="json")))
    assert run(["audit", "judge", "--params", str(file), "--texts", str(folder / "none.jsonl")]) == 1
    return ""


def card(params: Params, _: Path) -> str:
    return json.dumps(
        provenance(make_audit(None, params, cases=1), typed([], VERDICTS), [params], "notes of the simulator")
    )


def model_in_manifest(params: Params, folder: Path) -> str:
    found = Fingerprint("judge", {"endpoint": "https://models.test/v1", "asked": "big"})
    fingerprint_path(folder, "judge").write_text(found.to_json())
    return json.dumps(model_of(folder, "judge", params))


def report(params: Params, _: Path) -> str:
    return page_of([shown_note()], params=params.model_dump(mode="json"))


def lineage_of(params: Params) -> dict:
    """A dvc.lock whose stages list params in the three ways in which dvc.yaml may name them."""
    values = params.model_dump(mode="json")
    listed = {
        "all": values,
        "role": {"roles.judge": values["roles"]["judge"]},
        "key": {f"roles.judge.{name}": values["roles"]["judge"][name] for name in ROLE},
        "given": {"evaluate": {"judge": "small@https://models.test/v1?key=query-key"}},
    }
    return {"stages": {name: {"params": {"params.yaml": of_stage}} for name, of_stage in listed.items()}}


def recorded_params(params: Params, _: Path) -> str:
    """Params of the parent run and of the stages' runs in MLflow."""
    lineage = read_lineage(lineage_of(params))
    return str([lineage_params(lineage, Recording("x")), *(flat_params(stage.params) for stage in lineage.stages)])


def recorded_lineage(params: Params, _: Path) -> str:
    return read_lineage(lineage_of(params)).as_json()


PLACES = [announced, card, model_in_manifest, report, recorded_params, recorded_lineage]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_no_secret_of_a_role_is_shown(
    place: Callable[[Params, Path], str], private: Params, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = place(private, tmp_path)
    printed = capsys.readouterr()
    said += printed.out + printed.err
    assert "https://models.test/v1" in said and "big" in said
    assert not [secret for secret in SECRETS if secret in said]


def test_settings_without_secrets_are_shown_as_they_are() -> None:
    values = shipped().model_dump(mode="json")
    assert public_params(values) == values
    assert public_params(ROLE) == {
        "base_url": "https://models.test/v1",
        "model": "big",
        "query": {"api-version": "[redacted]"},
        "headers": {"X-Project": "[redacted]"},
    }


def test_lineages_that_differ_in_a_hidden_value_are_two() -> None:
    roles = ({"roles.judge": {**ROLE, "query": {"api-version": version}}} for version in "12")
    one, other = (read_lineage({"stages": {"a": {"params": {"params.yaml": role}}}}) for role in roles)
    assert one.id != other.id and one.stages == other.stages


@pytest.mark.parametrize(
    "address", ["some-one:pass-word@models.test/v1", "https://some-one:pass-word/@models.test/v1", "http://[x"]
)
def test_an_address_that_cannot_be_read_is_not_shown(address: str) -> None:
    assert public_url(address) == "an invalid address"
