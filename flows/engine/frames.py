"""Types of chunked work."""

from collections.abc import Awaitable, Callable

import pandas as pd

from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.calls import Ask

Frames = dict[str, pd.DataFrame]
"""Tables by name."""

ChunkWork = Callable[[Frames, Callable[[RoleName], Ask], Params], Awaitable[Frames]]
"""Work on one chunk: a module-level function, so that it can run in another process."""
