"""Each tool's library reads our exported files exactly."""

import json
import os
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from flows.runtime.domain import load_domain
from tasks.audit.card import _ac1, holm
from tasks.dataset.splits import SPLITS
from tasks.exchange.annotated import AnnotatedText
from tasks.exchange.bio import read_docbin, write_docbin
from tasks.exchange.fhir import write_fhir
from tasks.exchange.label_studio import labelling_config, write_tasks
from tasks.network.sampling import sample
from tasks.statistics.agreement import cohen_kappa
from tasks.statistics.intervals import _wilson
from tasks.statistics.misclassification import corrected_share
from tasks.statistics.prediction_powered import powered_share
from tests.dataset.test_export import FILES
from tests.exchange.test_formats import EXAMPLE, LABELS
from tests.support.repository import write_files

HERE = Path(__file__).parent
KINDS = ("Patient", "Encounter", "Condition", "Observation", "MedicationRequest", "DocumentReference")
PYTHON = Path(os.environ.get("EXCHANGE_PYTHON", HERE.parents[1] / ".venv-exchange" / "bin" / "python"))
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="needs the other tools' libraries: make exchange")
EMPTY = AnnotatedText("13-normal", "Nothing.", ())


def run(*arguments: str | Path) -> Any:
    script = HERE / "read_by_other_tools.py"
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([PYTHON, script, *arguments], capture_output=True, text=True, check=False, env=offline)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_spacy_reads_our_docbin_and_we_read_the_same(tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="spaCy is an extra: pip install -e '.[spacy]'")
    file = tmp_path / "spans.spacy"
    file.write_bytes(write_docbin([EXAMPLE, EMPTY]))
    assert run("docbin", file) == [
        [one.name, one.text, [[s.start, s.end, s.label, s.assertion] for s in one.spans]] for one in (EXAMPLE, EMPTY)
    ]
    assert read_docbin(file.read_bytes()) == [EXAMPLE, EMPTY]


def test_label_studio_accepts_our_tasks_and_reads_their_spans(tmp_path: Path) -> None:
    tasks = json.loads(write_tasks([EXAMPLE, EMPTY], annotated_by="rules"))
    for number, task in enumerate(tasks):
        annotation = {"id": number, "result": task["predictions"][0]["result"], "completed_by": 1}
        task |= {"id": number, "annotations": [annotation]}
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    (tmp_path / "config.xml").write_text(labelling_config(LABELS))
    found = run("label-studio", tmp_path / "config.xml", tmp_path / "tasks.json")
    assert found["errors"] == []
    read = {name: sorted(tuple(span) for span in spans) for name, spans in found["read"]}
    assert read[EXAMPLE.name] == sorted((s.start, s.end, s.label, s.assertion) for s in EXAMPLE.spans)


@pytest.mark.parametrize("seed", range(3))
def test_ppi_python_and_truescore_compute_the_same_figures_of_a_judge(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    truth = random.random(600) < 0.6
    judged = np.where(random.random(600) < 0.9, truth, ~truth)
    labels, own, more, p = truth[:150], judged[:150], judged[150:], random.random(12) / 20
    data = {"labels": labels, "judged": own, "more": more}
    file = tmp_path / "data.json"
    file.write_text(
        json.dumps({**{name: values.astype(int).tolist() for name, values in data.items()}, "p": p.tolist()})
    )
    theirs = run("figures", file)
    ours = {
        "powered": powered_share(labels, own, more, seed=1).value,
        "rogan_gladen": corrected_share(judged.mean(), own[labels].mean(), 1 - own[~labels].mean()),
        "kappa": cohen_kappa(labels, own),
        "ac1": _ac1(labels, own),
        "holm": holm(p).tolist(),
        "wilson": list(_wilson(labels.mean(), 150)),
    }
    for name, value in ours.items():
        assert value == pytest.approx(theirs[name], abs=1e-6), name


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("dataset")
    write_files(folder, FILES)
    return folder


def rows_of(dataset: Path) -> dict[str, list[dict[str, Any]]]:
    return {split: pq.read_table(dataset / "data" / f"{split}.parquet").to_pylist() for split in SPLITS}


def test_datasets_loads_the_folder_with_its_splits_and_loses_nothing(dataset: Path, tmp_path: Path) -> None:
    assert run("datasets", dataset, tmp_path / "cache") == rows_of(dataset)


def test_mlcroissant_validates_the_description_and_reads_each_record_with_its_split(dataset: Path) -> None:
    found = run("croissant", dataset / "croissant.json")
    assert found["errors"] == [] and found["warnings"] == [] and found["splits"] == list(SPLITS)
    ours = {row["record"]: (split, row) for split, rows in rows_of(dataset).items() for row in rows}
    assert sorted(row["record"] for row in found["records"]) == sorted(ours)
    for row in found["records"]:
        split, expected = ours[row["record"]]
        assert row.pop("split") == split
        assert row == expected


@pytest.mark.parametrize("domain", ["respiratory", "urinary"])
def test_fhir_resources_validates_every_resource_and_reads_what_we_wrote(domain: str, tmp_path: Path) -> None:
    network = load_domain(domain).network
    records = sample(network, 20, 1).to_dict("records")
    texts = {
        version: {number: f"**History**\r\n{version} note {number} é 🤧\t \n" for number in range(20)}
        for version in ("normal", "compact")
    }
    code = {"system": "http://hl7.org/fhir/sid/icd-10", "code": "X", "display": "Any"}
    files = write_fhir(records, texts, network, {network.variables[0]: code})
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = run("fhir", tmp_path)
    assert found == {name: [json.loads(line) for line in content.splitlines()] for name, content in files.items()}
    assert found.keys() == {f"{kind}.ndjson" for kind in KINDS}
    read = {one["id"]: b64decode(one["content"][0]["attachment"]["data"]) for one in found["DocumentReference.ndjson"]}
    assert read == {f"record-{n}-note-{v}": text.encode() for v, of in texts.items() for n, text in of.items()}
