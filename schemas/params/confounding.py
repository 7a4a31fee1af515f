"""Params of the effect of a treatment with text as confounder."""

from pydantic import Field, model_validator

from schemas.params.base import Section


class TextConfounding(Section):
    """Draws from one pool of records with notes, and the adjustment by text."""

    pool: int = Field(default=5000, gt=0)  # records with notes
    draws: int = Field(default=100, ge=10)  # samples from the pool
    size: int = Field(default=1000, ge=100)  # records in a draw, without replacement
    folds: int = Field(default=5, ge=2)  # of cross-fitting
    components: int = Field(default=60, ge=5)  # principal components of the text

    @model_validator(mode="after")
    def _draws_are_smaller_than_the_pool(self) -> "TextConfounding":
        if self.size >= self.pool:
            raise ValueError(f"size is {self.size}; expected fewer records than the pool's {self.pool}")
        return self
