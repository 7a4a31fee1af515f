"""The dataset card: README.md with Hugging Face front matter, filled from ``templates/card.md``."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import pandas as pd
import yaml
from jinja2 import StrictUndefined, Template

from schemas.params.records import Export
from schemas.tables.columns import SECTIONS
from schemas.tables.records import MATCH_KINDS
from tasks.dataset.fields import SPAN_FIELDS, VISIT_HEAD, VISIT_NOTE, columns_of, split_path, visits_path
from tasks.domains.rules import rules_of

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))


@dataclass(frozen=True)
class Origin:
    """How the dataset was made."""

    records: dict[str, int]  # by split
    left_out: int  # records without note or compact note
    spans: int
    written_by: tuple[str, ...]
    annotated_by: tuple[str, ...]
    seed: int
    domain: str

    @property
    def total(self) -> int:
        """Records of all splits."""
        return sum(self.records.values())

    @property
    def by_rules(self) -> str:
        """Whether the simulator wrote and annotated "all" of it, "part" of it, or nothing ("")."""
        ruled = ["simulator" in label for label in (*self.written_by, *self.annotated_by)]
        return "all" if all(ruled) else "part" if any(ruled) else ""


def citation(export: Export) -> str:
    """How to cite the dataset; creators and year are left out where params do not give them."""
    year = f" ({export.date_published[:4]})" if export.date_published else ""
    creators = f"{'; '.join(export.creators)}{year}. " if export.creators else ""
    return f"{creators}{export.name}, version {export.version}{'' if creators else year} [data set]. {export.url}"


def dataset_card(export: Export, origin: Origin, visits: Mapping[str, pd.DataFrame], visits_left_out: int) -> str:
    """The card as Markdown; ``visits`` of patients over time by split, if any, and how many patients are left out."""
    rules = rules_of(origin.domain)
    paths = {"default": {split: split_path(split) for split in origin.records}}
    if visits:
        paths["visits"] = {split: visits_path(split) for split in visits}
    front = {
        "pretty_name": export.name,
        "license": export.license.lower(),
        "language": ["en"],
        "task_categories": ["text-classification", "token-classification"],
        "tags": ["clinical", "synthetic"],
        "size_categories": [next((name for limit, name in SIZES if origin.total < limit), "n>100K")],
        "configs": [
            {"config_name": name, "data_files": [{"split": split, "path": path} for split, path in own.items()]}
            for name, own in paths.items()
        ],
    }
    text = files("tasks.dataset").joinpath("templates", "card.md").read_text(encoding="utf-8")
    return Template(text, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined).render(
        front=yaml.safe_dump(front, sort_keys=False).strip(),
        export=export,
        origin=origin,
        subject=rules.subject,
        citation=citation(export),
        columns=columns_of(origin.domain),
        split_path=split_path,
        span_fields=SPAN_FIELDS,
        symptoms=rules.symptoms,
        sections=SECTIONS,
        matched=MATCH_KINDS,
        visits={name: {"patients": own["patient"].nunique(), "visits": len(own)} for name, own in visits.items()},
        visits_left_out=visits_left_out,
        visits_path=visits_path,
        visit_columns={**VISIT_HEAD, **VISIT_NOTE},
    )
