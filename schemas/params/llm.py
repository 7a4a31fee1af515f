"""Roles: which endpoint and model does which work, and how it samples."""

from typing import Literal

from pydantic import Field

from schemas.params.base import Section

RoleName = Literal["writer", "annotator", "judge", "answerer"]


class Role(Section):
    """One role's endpoint and sampling settings."""

    base_url: str  # "embedded", or any OpenAI-compatible address
    model: str
    api_key_env: str = "OPENAI_API_KEY"  # name of the variable that holds the key; never the key itself
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, gt=0)
