"""Divides references and outputs into sections, so that each is judged against the same section."""

from collections.abc import Sequence
from typing import Literal

from tasks.evaluation.documents.model import WHOLE, Document
from tasks.text.headings import split_at, split_headings
from tasks.text.soap import PARTS, split_soap

Sectioning = Literal["whole", "given", "soap", "headings"]
"""Whole texts; the document's own ``sections``; the four parts of a SOAP note, found as in ACI-BENCH; any headings."""


def split(text: str, document: Document, how: Sectioning) -> dict[str, str]:
    """Sections of a text by name; a section that it lacks is absent."""
    if how == "whole":
        return {WHOLE: text}
    if how == "soap":
        return split_soap(text)
    if how == "given":
        return split_at(text, document.sections) if document.sections else {WHOLE: text}
    return split_headings(text)


def compared_sections(document: Document, output: str, how: Sectioning) -> dict[str, tuple[str, str]]:
    """Reference and output of each section, by name; an absent section is empty.

    Sections are those of the reference and those that only the output has: nothing in them is in the reference.
    """
    reference, given = split(document.reference or "", document, how), split(output, document, how)
    names = PARTS if how == "soap" else dict.fromkeys([*reference, *given])
    return {name: (reference.get(name, ""), given.get(name, "")) for name in names}


def reference_claims(document: Document, section: str) -> tuple[str, ...] | None:
    """The document's own claims of a section of its reference; None if the judge has to list them."""
    return None if document.claims is None else document.claims.get(section)


def default_sectioning(documents: Sequence[Document], layout: str) -> Sectioning:
    """The sectioning of a data file: that of ACI-BENCH for its layout, the documents' own, or none."""

    if layout == "aci_bench":
        return "soap"
    return "given" if any(document.sections for document in documents) else "whole"
