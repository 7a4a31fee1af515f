"""Readers of DocLens's outside data: ACI-BENCH, its GPT-4 subclaims, MeQSum, the user's radiology reports.

None of it is distributed with the project; `folder` is sources.folder of params.yaml.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from schemas.errors import MissingSourceError, SourceError
from tasks.text.sentences import sentences
from tasks.text.soap import PARTS, split_soap

ACI_TEST1 = "aci_bench/test1.csv"
ACI_SUBCLAIMS = "doclens/aci_test1_subclaims.json"
MEQSUM = "doclens/meqsum_test.json"
"""Paths in the folder: ACI-BENCH's split test1, GPT-4's subclaims of its references, MeQSum's test questions."""


def aci_files(splits: Sequence[str]) -> list[str]:
    """Paths of splits of ACI-BENCH in the folder."""
    return [f"aci_bench/{split}.csv" for split in splits]


def read_aci_bench(folder: Path, splits: Sequence[str] = ("test1",)) -> pd.DataFrame:
    """Encounters of the splits: ``encounter``, ``dialogue``, ``note``, in the files' order.

    Raises MissingSourceError if no split is there, and SourceError if one of several is missing.
    """
    files = [folder / file for file in aci_files(splits)]
    missing = [str(file) for file in files if not file.exists()]
    if missing and len(missing) < len(files):
        raise SourceError(f"{', '.join(missing)}: no such file; put it there or take the split out of med_omit.splits")
    tables = [_read_csv(file, ["encounter_id", "dialogue", "note"]) for file in files]
    table = pd.concat(tables, ignore_index=True)
    return table.rename(columns={"encounter_id": "encounter"})[["encounter", "dialogue", "note"]]


def output_files(file: str, splits: Sequence[str] = ("test1",)) -> list[str]:
    """The files of a system: ``{split}`` in its name is replaced by each split."""
    return list(dict.fromkeys(file.replace("{split}", split) for split in splits))


def read_outputs(
    folder: Path, systems: Mapping[str, str], splits: Sequence[str] = ("test1",)
) -> dict[str, dict[str, str]]:
    """Notes of each system by encounter; ``systems`` are CSV files in ``folder`` with encounter_id and note."""
    found: dict[str, dict[str, str]] = {}
    for name, file in systems.items():
        tables = [_read_csv(folder / one, ["encounter_id", "note"]) for one in output_files(file, splits)]
        table = pd.concat(tables, ignore_index=True)
        found[name] = dict(zip(table["encounter_id"], table["note"].fillna("").astype(str), strict=True))
    return found


def _read_csv(file: Path, columns: list[str]) -> pd.DataFrame:
    if not file.exists():
        raise MissingSourceError(f"{file}: no such file; set sources.folder to the folder that holds it")
    table = pd.read_csv(file)
    missing = [name for name in columns if name not in table]
    if missing:
        raise SourceError(f"{file}: columns {missing} are missing; it has {list(table.columns)}")
    return table


def read_subclaims(folder: Path, encounters: pd.DataFrame) -> dict[str, dict[str, tuple[str, ...]]]:
    """GPT-4's subclaims of the test1 references: encounter -> part -> claims.

    In the released file, the section references and subclaims of an entry belong to a different encounter than its id;
    they are aligned by the text of the subjective part. Raises SourceError if an entry fits no or several encounters.
    """
    file = folder / ACI_SUBCLAIMS
    if not file.exists():
        raise MissingSourceError(f"{file}: no such file; set sources.folder to the folder that holds it")
    references = dict(zip(encounters["encounter"], encounters["note"], strict=True))
    return align_subclaims(json.loads(file.read_text(encoding="utf-8")), references, str(file))


def align_subclaims(
    entries: Sequence[Mapping[str, Any]], references: Mapping[str, str], file: str
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Claims of ``references`` by part, aligned as in `read_subclaims`. Raises SourceError naming the entry."""
    parts = {name: split_soap(text) for name, text in references.items()}
    by_text = {squeeze(text.get("subjective", "")): name for name, text in parts.items()}
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for entry in entries:
        name = by_text.get(squeeze(entry["reference_subjective"]))
        if name is None or name in found:
            raise SourceError(
                f"{file}: entry {entry['example_id']}: its subjective reference fits "
                f"{'no' if name is None else 'a second time the same'} encounter; expected one each"
            )
        found[name] = {part: tuple(entry[f"subclaims_reference_{part}"]) for part in PARTS}
    return found


def squeeze(text: str) -> str:
    """``text`` with single spaces."""
    return re.sub(r"\s+", " ", text).strip()


def read_meqsum(folder: Path) -> pd.DataFrame:
    """MeQSum's test questions: ``document``, ``sentences`` (a tuple), ``reference``.

    Raises SourceError naming the entry that does not fit.
    """
    file = folder / MEQSUM
    if not file.exists():
        raise MissingSourceError(f"{file}: no such file; set sources.folder to the folder that holds it")
    rows = []
    for number, entry in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        try:
            parts = tuple(squeeze(part) for part in re.split(r"\[\d+\]", entry["input"])[1:])
            rows.append((str(entry["example_id"]), parts, str(entry["reference"])))
        except (KeyError, TypeError) as error:
            raise SourceError(f"{file}: entry {number}: expected example_id, input and reference ({error})") from error
        if not parts:
            raise SourceError(f"{file}: entry {number}: input has no numbered sentence; expected [0] first [1] second")
    return _documents(file, rows)


def read_radiology(file: Path) -> pd.DataFrame:
    """Radiology reports of the user's (credentialed) MIMIC copy: JSON lines with id, findings and impression.

    Columns ``document``, ``sentences`` (of the findings), ``reference`` (the impression), and ``category`` (such as
    modality and anatomy; empty for a line without it). Raises SourceError naming the line that does not fit.
    """
    if not file.exists():
        raise MissingSourceError(f"{file}: no such file; MIMIC data is credentialed, export your own copy there")
    lines = _json_lines(file, ("id", "findings", "impression"), ("category",))
    rows = [(document, tuple(sentences(findings)), impression) for document, findings, impression, _ in lines]
    return _documents(file, rows).assign(category=[category for *_, category in lines])


def read_texts(file: Path) -> dict[str, str]:
    """Outside outputs by document id, from JSON lines with id and text."""
    if not file.exists():
        raise MissingSourceError(f"{file}: no such file; set sources.folder to the folder that holds it")
    return dict(_json_lines(file, ("id", "text")))  # type: ignore[arg-type]


def _json_lines(file: Path, names: tuple[str, ...], optional: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The values of ``names`` and of ``optional`` (empty if missing) in each line."""
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            rows.append((*(str(entry[name]) for name in names), *(str(entry.get(name, "")) for name in optional)))
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{file}: line {number}: expected {', '.join(names)} ({error})") from error
    return rows


def _documents(file: Path, rows: list[tuple[str, tuple[str, ...], str]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["document", "sentences", "reference"])
    if (twice := frame["document"].duplicated()).any():
        raise SourceError(f"{file}: id {frame['document'][twice].iloc[0]} stands twice; expected each once")
    return frame
