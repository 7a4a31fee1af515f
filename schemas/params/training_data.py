"""Params of the span detector trained on generated notes."""

from pydantic import Field, field_validator

from schemas.params.base import Section


class TrainingData(Section):
    """Sizes of training sets, and settings of the tagger."""

    sizes: list[int] = Field(default=[50, 200, 800], min_length=1)  # generated notes to train on
    added: int = Field(default=200, ge=1)  # of these, added to the published notes
    held_out: int = Field(default=50, ge=1)  # further generated notes to test on
    folds: int = Field(default=5, ge=2)  # of cross-validation on the published notes
    layer: int = Field(default=3, ge=1)  # of the encoder, whose vectors the tagger reads
    penalty: float = Field(default=0.001, ge=0)  # of the sum of squared weights
    prior_weight: float = Field(default=0.5, ge=0, le=1)  # power of the tags' frequencies by which decoding divides

    @field_validator("sizes")
    @classmethod
    def _rising(cls, sizes: list[int]) -> list[int]:
        if sorted(set(sizes)) != sizes or sizes[0] < 1:
            raise ValueError(f"must rise from above 0; found {sizes}")
        return sizes
