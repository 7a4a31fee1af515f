"""The base of every params section."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen section of params.yaml; an unknown key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
