"""Overlap metrics."""

from pydantic import Field

from schemas.params.base import Section


class Overlap(Section):
    """Model of BERTScore; the other overlap metrics have no params."""

    bert_score_model: str | None = None  # name or folder; null: BERTScore is listed as absent
    bert_score_layer: int | None = Field(default=None, ge=1)  # needed for a model that bert_score does not know
