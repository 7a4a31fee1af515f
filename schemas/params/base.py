"""The base of every params section, and values that sections share."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Device = Literal["cpu", "cuda", "auto"]
"""Where neural models compute; ``auto`` is a GPU if there is one."""


class Section(BaseModel):
    """A frozen section of params.yaml; an unknown key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
