"""How stages run (never what they compute), and where outside data lies."""

from pydantic import Field

from schemas.params.base import Section
from schemas.params.llm import RoleName, Sending


class Runtime(Section):
    """Chunks and limits; none of these changes an output byte."""

    chunk_rows: int = Field(default=250, gt=0)
    max_unscored_share: float = Field(default=0.05, ge=0, le=1)
    store: str | None = None  # of replies: "postgresql+psycopg://user@host/database"; null: .vignette/responses.sqlite
    accept_lost_calls: bool = False  # finish a stage although calls failed on the way (timeouts, server errors)
    dask: str | None = None  # "local", or a scheduler's address: run chunks on a Dask cluster
    dask_workers: int = Field(default=2, gt=0)  # processes of the local cluster
    sending: dict[RoleName, Sending] = Field(default_factory=dict)  # by role; defaults for those not named


class Sources(Section):
    """Folders of outside data; null when not at hand."""

    folder: str | None = None  # SOURCES on make's command line overrides
