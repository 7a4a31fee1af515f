"""Patients over time in the dataset and as FHIR: splits by patient, several encounters and documents of one patient."""

import base64
import json
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from flows.commands.exchange import write
from flows.runtime.domain import load_domain
from schemas.errors import SourceError
from tasks.exchange.fhir import write_patients
from tasks.exchange.patients import SPLITS, VisitSplits, split_path, split_patients, visit_splits, with_visits
from tasks.network.visits import visit_dates
from tests.dataset.test_export import FILES
from tests.support.histories import random_visits
from tests.support.repository import write_files

NETWORK = load_domain("respiratory").network


def notes_of(visits: pd.DataFrame) -> pd.DataFrame:
    texts = [f"Visit {row.visit} of {row.patient}, Hüsteln" for row in visits.itertuples()]
    return visits[["record", "patient", "visit", "day"]].assign(text=texts, consistent=True, provenance="rules")


@cache
def made(patients: int = 20) -> VisitSplits:
    visits = random_visits("respiratory", patients)
    notes = notes_of(visits)[lambda table: table["record"] != 302]
    shares = {"test_share": 0.2, "validation_share": 0.1}
    return visit_splits(visits, visit_dates(visits), notes, **shares, seed=7)


@cache
def dataset() -> dict[str, bytes]:
    return with_visits(FILES, made())


def test_all_visits_of_a_patient_are_in_one_split() -> None:
    visits = random_visits("respiratory", 20)
    tables = {split: pq.read_table(BytesIO(dataset()[split_path(split)])).to_pandas() for split in SPLITS}
    patients = {split: set(table["patient"]) for split, table in tables.items()}
    assert {split: len(own) for split, own in patients.items()} == {"train": 13, "validation": 2, "test": 4}
    assert sum(map(len, patients.values())) == len(set().union(*patients.values())) == 19
    rows = pd.concat(tables.values())
    expected = visits[visits["patient"] != 3]
    assert sorted(rows["record"]) == sorted(expected["record"]), "patient 3 lacks the note of a visit"
    assert (rows["record"] == rows["patient"] * 100 + rows["visit"]).all() and rows["record"].is_unique
    assert max(table.groupby("patient").size().max() for table in tables.values()) > 1
    assert made().left_out == 1


@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
def test_splits_hold_each_patient_once_and_leave_one_to_train_on(count: int) -> None:
    parts = split_patients(list(range(count)), 0.2, 0.1, 7)
    assert sorted(patient for own in parts.values() for patient in own) == list(range(count))
    assert all(parts.values()) and ("train" in parts) == (count > 0)
    assert parts == split_patients(list(range(count)), 0.2, 0.1, 7)


def test_the_card_and_the_croissant_file_describe_the_visits() -> None:
    card = dataset()["README.md"].decode()
    front = yaml.safe_load(card.split("---\n")[1])
    assert [entry["config_name"] for entry in front["configs"]] == ["default", "visits"]
    paths = {entry["path"] for entry in front["configs"][1]["data_files"]}
    assert paths == {split_path(split) for split in SPLITS} <= set(dataset())
    held = made().tables["train"]
    assert f"| train | 13 | {len(held)} | `visits/train.parquet` |" in card and "could not be written: 1." in card
    assert card.index("## Patients over time") < card.index("## Use and limits")
    croissant = json.loads(dataset()["croissant.json"])
    listed = {entry["@id"]: entry for entry in croissant["distribution"]}
    assert paths <= set(listed) and listed["visit-files"]["includes"] == "visits/*.parquet"
    fields = [field["name"] for field in croissant["recordSet"][-1]["field"]]
    assert fields == list(held.columns) and "cough" in fields
    assert {name: FILES[name] for name in FILES if name.startswith("data/")}.items() <= dataset().items()


def test_a_dataset_without_visits_is_as_before_but_for_its_checksums() -> None:
    found = with_visits(FILES, VisitSplits({}, 0))
    assert found == {name: contents for name, contents in FILES.items() if name != "SHA256SUMS"}


def fhir(patient: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The rows of a patient, and the files of all."""
    rows = pd.concat(made().tables.values()).sort_values("record").to_dict("records")
    return [row for row in rows if row["patient"] == patient], write_patients(rows, NETWORK, {})


def test_a_patient_is_one_resource_with_an_encounter_and_a_document_for_each_visit() -> None:
    rows, files = fhir(0)
    assert len(rows) > 1
    patients = [json.loads(line)["id"] for line in files["Patient.ndjson"].splitlines()]
    assert len(patients) == len(set(patients)) == 19 and "patient-3" not in patients
    bundle = json.loads(files["bundles/patient-0.json"])
    entries = [entry["resource"] for entry in bundle["entry"]]
    of_type = {
        kind: [one for one in entries if one["resourceType"] == kind] for kind in ("Encounter", "DocumentReference")
    }
    assert [one["resourceType"] for one in entries].count("Patient") == 1
    assert [one["id"] for one in of_type["Encounter"]] == [f"patient-0-visit-{row['visit']}" for row in rows]
    assert [one["period"]["start"] for one in of_type["Encounter"]] == [row["date"] for row in rows]
    for document, row in zip(of_type["DocumentReference"], rows, strict=True):
        text = base64.b64decode(document["content"][0]["attachment"]["data"]).decode()
        assert text == row["note"] and document["subject"] == {"reference": "Patient/patient-0"}
        assert document["context"]["encounter"] == [{"reference": f"Encounter/patient-0-visit-{row['visit']}"}]


def test_every_reference_of_a_bundle_is_in_it_and_ids_are_unique() -> None:
    _, files = fhir(0)
    for name, content in files.items():
        if name.startswith("bundles/"):
            entries = json.loads(content)["entry"]
            urls = [entry["request"]["url"] for entry in entries]
            resources = [entry["resource"] for entry in entries]
            assert urls == [f"{one['resourceType']}/{one['id']}" for one in resources] and len(set(urls)) == len(urls)
            references = {one[key]["reference"] for one in resources for key in ("subject", "encounter") if key in one}
            assert references and references <= set(urls)
            assert all(len(one["id"]) <= 64 for one in resources)


def test_findings_of_a_visit_have_its_date() -> None:
    rows, files = fhir(0)
    dates = {f"patient-0-visit-{row['visit']}": row["date"] for row in rows}
    for kind, element in (("Condition", "recordedDate"), ("Observation", "effectiveDateTime")):
        found = [json.loads(line) for line in files[f"{kind}.ndjson"].splitlines()]
        own = [one for one in found if one["subject"]["reference"] == "Patient/patient-0"]
        assert own and all(one[element] == dates[one["encounter"]["reference"].partition("/")[2]] for one in own)


def test_the_command_writes_the_patients_of_a_dataset_as_fhir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path / "dataset", dataset())
    monkeypatch.chdir(tmp_path)
    write("fhir", Path("out"), dataset=Path("dataset"), visits=True)
    said = capsys.readouterr().out
    assert "19 patients written to out" in said and "bundles/" in said
    assert len(list(Path("out/bundles").iterdir())) == 19
    with pytest.raises(SourceError, match="no spans to write as brat"):
        write("brat", Path("brat"), dataset=Path("dataset"), visits=True)
    write_files(tmp_path / "single", FILES)
    with pytest.raises(SourceError, match="the dataset has no patients with several visits"):
        write("fhir", Path("none"), dataset=Path("single"), visits=True)
