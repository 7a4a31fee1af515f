"""Run in the environment of requirements.txt: reads a file with its tool's library and prints it as JSON.

usage: read_by_other_tools.py {docbin FILE | label-studio CONFIG EXPORT | datasets FOLDER CACHE}
"""

import json
import sys
from pathlib import Path


def docbin(file: str) -> object:
    import spacy
    from spacy.tokens import DocBin

    docs = DocBin().from_bytes(Path(file).read_bytes()).get_docs(spacy.blank("en").vocab)
    return [[doc.text, [[s.start_char, s.end_char, s.label_, s.id_] for s in doc.spans["sc"]]] for doc in docs]


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


def datasets(folder: str, cache: str) -> object:
    from datasets import load_dataset

    return {split: list(rows) for split, rows in load_dataset(folder, cache_dir=cache).items()}


if __name__ == "__main__":
    tool, *arguments = sys.argv[1:]
    print(json.dumps(globals()[tool.replace("-", "_")](*arguments)))
