"""The hook of mkdocs that adds generated pages to the site and builds its navigation. The only importer of mkdocs."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from flows.reference.pages import commands_page, metrics_page, params_page, stages_page, tables_page

ROOT = Path(__file__).resolve().parents[2]

_REFERENCE = ("commands", "params", "stages", "tables", "metrics")
_CONCEPTS = (
    "known-truth",
    "records-and-spans",
    "stages-and-lineages",
    "roles-and-replies",
    "scores",
    "patients-over-time",
)

SECTIONS = {
    "Start": ("quickstart.md", "install.md", "run-time.md"),
    "Concepts": tuple(f"concepts/{name}.md" for name in _CONCEPTS),
    "How to": (
        "hosted.md",
        "evaluation.md",
        "audit.md",
        "plan.md",
        "own-metric.md",
        "agreement.md",
        "exchange.md",
        "publish.md",
        "lineages.md",
        "machines.md",
        "scale.md",
        "outside-data.md",
    ),
    "Reference": (
        *(f"reference/{name}.md" for name in _REFERENCE),
        "papers.md",
        "prompts.md",
        "baselines.md",
        "simulator.md",
        "statistics.md",
        "security.md",
        "glossary.md",
    ),
    "Project": ("architecture.md", "contributing.md", "changelog.md", "log.md"),
}
"""Pages by tab, in order. Pages of docs/ that are not listed are appended to How to."""


def generated_pages(root: Path) -> dict[str, str]:
    """Contents of the pages that are not files of docs/, by path within the site."""
    return {
        "index.md": within_docs((root / "README.md").read_text(encoding="utf-8")),
        "changelog.md": within_docs((root / "CHANGELOG.md").read_text(encoding="utf-8")),
        "log.md": within_docs((root / "LOG.md").read_text(encoding="utf-8")),
        "reference/commands.md": commands_page(),
        "reference/params.md": params_page(),
        "reference/stages.md": stages_page(root),
        "reference/tables.md": tables_page(root),
        "reference/metrics.md": metrics_page(root),
    }


def within_docs(text: str) -> str:
    """A page of the repository's root with its links made relative to docs/; links to other files become plain text."""
    linked = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[\w.-]*(?:LICENSE|\.cff|\.yaml|\.py)\)", r"`\1`", linked)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    for path, content in generated_pages(ROOT).items():
        files.append(File.generated(config, path, content=content))
    return files


def on_config(config: Any) -> Any:
    """Set the navigation: the listed pages that exist, then the unlisted ones."""
    docs = Path(config["docs_dir"])
    present = {file.relative_to(docs).as_posix() for file in docs.rglob("*.md")}
    config["nav"] = navigation(present)
    return config


def navigation(present: set[str]) -> list[dict[str, Any]]:
    """The navigation over the pages ``present`` in docs/ and the generated ones."""
    listed = {page for pages in SECTIONS.values() for page in pages}
    made = {page for page in listed if page.startswith("reference/")} | {"changelog.md", "log.md"}
    sections: list[dict[str, Any]] = [{"Home": "index.md"}]
    for title, pages in SECTIONS.items():
        extra = sorted(present - listed) if title == "How to" else []
        sections.append({title: [page for page in pages if page in present | made] + extra})
    return sections
