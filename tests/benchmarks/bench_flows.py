"""What the frame around a stage costs: a stage without work, and a rebuild without change."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.clone import Clone

_IDLE_STAGE = '''"""Stage `idle`: no work."""

from flows.engine.stage import Stage


async def run(stage: Stage) -> None:
    """Do nothing."""
'''


def benches() -> Iterator[dict[str, Any]]:
    """Seconds of an idle stage beside a bare Prefect import, and of a rebuild with nothing to do beside git status."""
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
    yield _row("stage without work, whole process", ours, bare, "python -c 'import prefect'", 3)


def _fastest(work: Any, times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _row(name: str, ours: float, peer: float, peer_name: str, n: int) -> dict[str, Any]:
    return {"name": name, "ours": ours, "peer": peer, "peer_name": peer_name, "ratio": peer / ours, "unit": "s", "n": n}
