"""ACI-BENCH (Yim et al. 2023) in the folder of outside data: dialogues, notes, published outputs, GPT-4's subclaims."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from schemas.errors import SourceError
from tasks.texts.document import Document
from tasks.texts.files import read_rows
from tasks.texts.reading import add_claims, outputs_by_id, read_documents

SUBCLAIMS = "doclens/aci_test1_subclaims.json"
"""GPT-4's subclaims of the references of split test1."""


def encounter_files(splits: Sequence[str]) -> list[str]:
    """Paths of splits in the folder."""
    return [f"aci_bench/{split}.csv" for split in splits]


def output_files(file: str, splits: Sequence[str]) -> list[str]:
    """The files of a system: ``{split}`` in its name is replaced by each split."""
    return list(dict.fromkeys(file.replace("{split}", split) for split in splits))


def read_encounters(
    folder: Path, systems: Mapping[str, str], splits: Sequence[str] = ("test1",), *, subclaims: bool = False
) -> list[Document]:
    """Encounters of the splits in the files' order, with the outputs of ``systems`` (CSV files in ``folder``).

    ``subclaims``: with GPT-4's claims of the references. Raises MissingSourceError where a file is absent, and
    SourceError where only some splits are, or a reference has no claims.
    """
    files = [folder / file for file in encounter_files(splits)]
    missing = [str(file) for file in files if not file.exists()]
    if missing and len(missing) < len(files):
        raise SourceError(f"{', '.join(missing)}: no such file; put it there or take the split out of the params")
    documents = [document for file in files for document in read_documents(file).documents]
    for system, file in systems.items():
        parts = [outputs_by_id(folder / one) for one in output_files(file, splits)]
        texts = {name: text for part in parts for name, text in part.items()}
        documents = [one.with_outputs({system: texts[one.id]}) if one.id in texts else one for one in documents]
    if subclaims:
        documents = add_claims(documents, read_rows(folder / SUBCLAIMS).rows, str(folder / SUBCLAIMS))
        if without := [one.id for one in documents if one.claims is None]:
            raise SourceError(f"{folder / SUBCLAIMS}: no subclaims of encounter {without[0]}; expected one entry each")
    return [replace(one, dialogue=True) for one in documents]
