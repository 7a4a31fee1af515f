"""Records and notes as FHIR resources, read by hand; tests/exchange/test_other_tools.py reads them with a library."""

import base64
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.commands import exchange
from flows.runtime.domain import load_domain
from flows.runtime.tables import write_table
from schemas.tables.records import COMPACT_NOTES, NOTES, records_schema
from tasks.domains.in_use import in_domain
from tasks.exchange.fhir import TEST_DATA, write_fhir
from tasks.network.sampling import sample
from tests.support.imports import ROOT

NETWORK = load_domain("respiratory").network

RECORD = {"record": 7, "asthma": "yes", "smoking": "no", "season": "winter", "cough": "yes", "fever": "high"}
ICD = {"system": "http://hl7.org/fhir/sid/icd-10", "code": "J45", "display": "Asthma"}


def files(**changes: object) -> dict[str, list[dict[str, Any]]]:
    counts = {"days_at_home": 3, "antibiotics": "no"}
    values = {name: (NETWORK.values(name) or (0,))[0] for name in NETWORK.variables}
    record = {**values, **counts, **RECORD, **changes}
    written = write_fhir([record], {"normal": {7: "Hüstelt.\n"}, "compact": {7: "H."}}, NETWORK, {"asthma": ICD})
    return {name: [json.loads(line) for line in text.splitlines()] for name, text in written.items()}


def test_every_variable_is_one_resource_but_a_treatment_that_was_not_given() -> None:
    found = files()
    ids = [(name, resource["id"]) for name in found for resource in found[name]]
    assert len(set(ids)) == len(ids) == len(NETWORK.variables) - 1 + 4  # patient, encounter, two notes
    assert "MedicationRequest.ndjson" not in found
    given = files(antibiotics="yes")["MedicationRequest.ndjson"]
    assert [one["medicationCodeableConcept"] for one in given] == [{"text": "antibiotics"}]
    assert all(one["meta"] == {"security": [TEST_DATA]} for name in found for one in found[name])


def test_conditions_say_whether_the_patient_has_them() -> None:
    conditions = {one["id"]: one for one in files()["Condition.ndjson"]}
    asthma, smoking = conditions["record-7-asthma"], conditions["record-7-smoking"]
    assert asthma["verificationStatus"]["coding"][0]["code"] == "confirmed"
    assert asthma["code"] == {"coding": [ICD], "text": "asthma"} and "clinicalStatus" in asthma
    assert smoking["verificationStatus"]["coding"][0]["code"] == "refuted" and "clinicalStatus" not in smoking
    assert smoking["code"] == {"text": "smoking"}


def test_observations_hold_values_and_counts() -> None:
    found = {one["id"]: one for one in files()["Observation.ndjson"]}
    assert found["record-7-fever"]["valueString"] == "high" and found["record-7-days-at-home"]["valueInteger"] == 3
    assert found["record-7-season"]["category"][0]["coding"][0]["code"] == "social-history"


def test_notes_keep_every_character() -> None:
    documents = {one["id"]: one for one in files()["DocumentReference.ndjson"]}
    attachment = documents["record-7-note-normal"]["content"][0]["attachment"]
    assert base64.b64decode(attachment["data"]).decode() == "Hüstelt.\n"
    assert documents["record-7-note-compact"]["subject"] == {"reference": "Patient/record-7"}


@pytest.mark.parametrize("domain", ["respiratory", "urinary"])
def test_the_command_writes_what_the_stages_wrote(
    domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(
        (ROOT / "params.yaml").read_text().replace("domain: respiratory", f"domain: {domain}")
    )
    network = load_domain(domain).network
    write_table(sample(network, 3, 1), Path("data/sample/records.parquet"), records_schema(network))
    notes = pd.DataFrame({"record": [0, 2], "attempt": 0, "note": "A", "consistent": True, "provenance": "rules"})
    write_table(notes, Path("data/filter/notes.parquet"), NOTES)
    compact = pd.DataFrame({"record": [0, 1, 2], "compact": "a", "provenance": "rules"})
    write_table(compact, Path("data/compact/compact_notes.parquet"), COMPACT_NOTES)
    stages = {
        "sample": {"cmd": "", "outs": ["data/sample/records.parquet"]},
        "span": {"cmd": "", "deps": ["data/filter/notes.parquet", "data/compact/compact_notes.parquet"], "outs": []},
    }
    Path("dvc.yaml").write_text(json.dumps({"stages": stages}))
    with in_domain(domain):  # which reading the params changes for the whole process
        exchange.write("fhir", Path("out"), "normal")
    patients = [json.loads(line)["id"] for line in Path("out/Patient.ndjson").read_text().splitlines()]
    assert patients == ["record-0", "record-2"], "record 1 has no note"
    assert "2 patients written to out" in capsys.readouterr().out
