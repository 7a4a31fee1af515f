"""Overhead of running a stage: a stage without work."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.comparison import row
from tests.support.clone import Clone

_IDLE_STAGE = '''"""Stage `idle`: no work."""

from flows.runtime.stage import Stage


async def run(stage: Stage) -> None:
    """Do nothing."""
'''


def benches() -> Iterator[dict[str, Any]]:
    """Seconds of an idle stage, compared with a bare import of Prefect."""
    with TemporaryDirectory() as folder:
        clone = Clone(Path(folder))
        (clone.folder / "flows" / "stages" / "idle.py").write_text(_IDLE_STAGE)
        (clone.folder / "dvc.yaml").write_text("stages:\n  idle: {cmd: vignette stage idle, outs: [idle.txt]}\n")
        clone.vignette("server", "start")
        try:
            ours = _fastest(lambda: clone.vignette("stage", "idle"))
            bare = _fastest(lambda: subprocess.run([sys.executable, "-c", "import prefect"], check=True))
        finally:
            clone.vignette("server", "stop")
    yield row("stage without work, whole process", ours, bare, "python -c 'import prefect'", "s", 3)


def _fastest(work: Any, times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
