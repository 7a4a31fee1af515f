"""The documents of ACI-BENCH: dialogues with reference notes, and published outputs."""

from collections.abc import Mapping

import pandas as pd

from tasks.evaluation.documents.model import Document


def encounter_documents(
    encounters: pd.DataFrame,
    outputs: Mapping[str, Mapping[str, str]],
    claims: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
) -> list[Document]:
    """Documents of ``encounters`` (encounter, dialogue, note) with outputs by system and claims by part, in order."""
    return [
        Document(
            row.encounter,
            (row.dialogue,),
            row.note,
            claims=None if claims is None else claims[row.encounter],
            outputs={system: texts[row.encounter] for system, texts in outputs.items() if row.encounter in texts},
        )
        for row in encounters.itertuples()
    ]
