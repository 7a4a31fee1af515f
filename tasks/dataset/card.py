"""The dataset card: README.md with Hugging Face front matter, filled from ``templates/card.md``."""

from dataclasses import dataclass
from importlib.resources import files

import yaml
from jinja2 import StrictUndefined, Template

from schemas.params.records import Export
from schemas.tables.columns import SECTIONS
from schemas.tables.records import MATCH_KINDS
from tasks.dataset.fields import SPAN_FIELDS, columns_of, split_path
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


def description(origin: Origin) -> str:
    """One paragraph about contents and provenance."""
    subject = rules_of(origin.domain).subject
    return (
        f"{origin.total} simulated patient records of a Bayesian network of {subject}, each with a "
        f"clinical note and a compact version of it, and {origin.spans} symptom spans. Notes written by: "
        f"{', '.join(origin.written_by)}. Spans annotated by: {', '.join(origin.annotated_by)}. "
        "No text is of a real patient."
    )


def citation(export: Export) -> str:
    """How to cite the dataset; creators and year are left out where params do not give them."""
    year = f" ({export.date_published[:4]})" if export.date_published else ""
    creators = f"{'; '.join(export.creators)}{year}. " if export.creators else ""
    return f"{creators}{export.name}, version {export.version}{'' if creators else year} [data set]. {export.url}"


def dataset_card(export: Export, origin: Origin) -> str:
    """The card as Markdown."""
    files_by_split = [{"split": split, "path": split_path(split)} for split in origin.records]
    front = {
        "pretty_name": export.name,
        "license": export.license.lower(),
        "language": ["en"],
        "task_categories": ["text-classification", "token-classification"],
        "tags": ["clinical", "synthetic"],
        "size_categories": [next((name for limit, name in SIZES if origin.total < limit), "n>100K")],
        "configs": [{"config_name": "default", "data_files": files_by_split}],
    }
    text = files("tasks.dataset").joinpath("templates", "card.md").read_text(encoding="utf-8")
    return Template(text, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined).render(
        front=yaml.safe_dump(front, sort_keys=False).strip(),
        export=export,
        origin=origin,
        description=description(origin),
        citation=citation(export),
        columns=columns_of(origin.domain),
        split_path=split_path,
        span_fields=SPAN_FIELDS,
        symptoms=rules_of(origin.domain).symptoms,
        sections=SECTIONS,
        matched=MATCH_KINDS,
    )
