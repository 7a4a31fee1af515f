"""Documents to evaluate, as a table with one row per document."""

from schemas.tables.columns import table, text

DOCUMENTS = table(
    {
        "document": text(),
        "source": text(),  # JSON list of texts: one dialogue or note, or several notes
        "reference": text(nullable=True),
        "sections": text(nullable=True),  # JSON list of headings
        "claims": text(nullable=True),  # JSON object: claims of the reference by section
        "outputs": text(),  # JSON object: text by system
        "questions": text(nullable=True),  # JSON list of questions, each with its right answer
    },
    key=["document"],
    name="documents",
)
