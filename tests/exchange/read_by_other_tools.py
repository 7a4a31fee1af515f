"""Run in the environment of requirements.txt: reads a file with its tool's library and prints it as JSON.

usage: read_by_other_tools.py {docbin FILE | label-studio CONFIG EXPORT | croissant FILE | datasets FOLDER CACHE
       | fhir FOLDER | figures FILE}
"""

import json
import sys
from pathlib import Path


def docbin(file: str) -> object:
    import spacy
    from spacy.tokens import DocBin

    docs = DocBin().from_bytes(Path(file).read_bytes()).get_docs(spacy.blank("en").vocab)
    return [
        [doc.user_data["name"], doc.text, [[s.start_char, s.end_char, s.label_, s.id_] for s in doc.spans["sc"]]]
        for doc in docs
    ]


def label_studio(config: str, export: str) -> object:
    """Errors of the pre-annotations by the SDK's schema, and spans of the annotations as read by its converter."""
    from label_studio_sdk.converter import Converter
    from label_studio_sdk.label_interface import LabelInterface

    xml = Path(config).read_text()
    interface = LabelInterface(xml)
    tasks = json.loads(Path(export).read_text())
    predictions = [prediction for task in tasks for prediction in task["predictions"]]
    errors = [error for one in predictions for error in interface.validate_prediction(one, return_errors=True)]
    converter = Converter(xml, str(Path(export).parent))
    read = []
    for item in converter.iter_from_json_file(export):
        stated = {(s["start"], s["end"]): s["choices"][0] for s in item["output"].get("assertion", [])}
        spans = [(s["start"], s["end"], s["labels"][0]) for s in item["output"].get("symptom", [])]
        read.append([item["input"]["name"], [[*span, stated.get(span[:2], "")] for span in spans]])
    return {"errors": errors, "read": read}


def fhir(folder: str) -> object:
    """Each resource, as the library writes what it has read and validated, by file."""
    from fhir.resources.R4B import get_fhir_model_class

    found = {}
    for file in sorted(Path(folder).iterdir()):
        kind = get_fhir_model_class(file.stem)
        found[file.name] = [json.loads(kind.model_validate_json(line).model_dump_json()) for line in file.open()]
    return found


def croissant(file: str) -> object:
    """Issues that validation found, the splits, and all records."""
    import mlcroissant

    dataset = mlcroissant.Dataset(jsonld=file)
    issues = dataset.metadata.ctx.issues
    splits = [row["splits/name"] for row in dataset.records(record_set="splits")]
    records = [plain(row) for row in dataset.records(record_set="notes")]
    return {
        "errors": list(issues.errors),
        "warnings": list(issues.warnings),
        "splits": plain(splits),
        "records": records,
    }


def plain(value: object) -> object:
    """Bytes as text, numpy values as Python's, and fields named without their record set."""
    if isinstance(value, dict):
        return {name.rsplit("/", 1)[-1]: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    return value.tolist() if hasattr(value, "tolist") else value


def datasets(folder: str, cache: str) -> object:
    from datasets import load_dataset

    return {split: list(rows) for split, rows in load_dataset(folder, cache_dir=cache).items()}


def figures(file: str) -> object:
    """Figures of a judge, from labels and verdicts."""
    import numpy as np
    import ppi_py
    import truescore

    data = {name: np.array(values) for name, values in json.loads(Path(file).read_text()).items()}
    labels, judged, every = data["labels"], data["judged"], np.concatenate([data["judged"], data["more"]])
    slope = np.polyfit(judged, labels, 1)[0]
    gold = np.arange(len(labels))
    return plain(
        {
            "powered": ppi_py.ppi_mean_pointestimate(labels, judged, every, lam=slope)[0],
            "rogan_gladen": truescore.rogan_gladen_estimate(every, labels, gold).point,
            "kappa": truescore.cohen_kappa(labels, judged),
            "ac1": truescore.gwet_ac1(labels, judged),
            "holm": truescore.holm(data["p"]),
            "wilson": [
                getattr(truescore.wilson_interval(int(labels.sum()), len(labels)), end) for end in ("low", "high")
            ],
        }
    )


if __name__ == "__main__":
    tool, *arguments = sys.argv[1:]
    print(json.dumps(globals()[tool.replace("-", "_")](*arguments)))
