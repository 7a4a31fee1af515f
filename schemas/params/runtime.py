"""Execution of stages, which never affects their results, and folders of outside data."""

from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from schemas.params.base import Section
from schemas.params.llm import RoleName, Sending


class Runtime(Section):
    """Chunks and limits. None of them changes the outputs."""

    chunk_rows: int = Field(default=250, gt=0)  # rows of a table that one task takes
    max_unscored_share: float = Field(default=0.05, ge=0, le=1)  # above it, a stage fails
    stages_at_once: int = Field(default=2, gt=0)  # stages that `vignette repro` runs side by side
    store: str | None = None  # of replies: "postgresql+psycopg://user@host/database"; null: .vignette/responses.sqlite
    accept_lost_calls: bool = False  # finish a stage although calls failed on the way (timeouts, server errors)
    dask: str | None = None  # "local", or a scheduler's address: run chunks on a Dask cluster
    dask_workers: int = Field(default=2, gt=0)  # processes of the local cluster
    chunks_url: str | None = None  # folder of chunks for Dask workers: "s3://bucket/folder"; null: in the clone
    sending: dict[RoleName, Sending] = Field(default_factory=dict)  # by role; defaults for the others

    @field_validator("chunks_url")
    @classmethod
    def _has_no_credentials(cls, url: str | None) -> str | None:
        if url is not None and "@" in urlsplit(url).netloc:
            raise ValueError("expected an address without credentials: these belong in the environment of each worker")
        return url

    @model_validator(mode="after")
    def _shares_a_store(self) -> "Runtime":
        """Workers without a common disk would each pay for the replies in a store of their own."""
        if self.chunks_url is not None and self.store is None:
            raise ValueError("chunks_url needs store, the address of a PostgreSQL database that all workers can reach")
        return self


class Sources(Section):
    """Folders of outside data; null if not available."""

    folder: str | None = None  # SOURCES on make's command line overrides
