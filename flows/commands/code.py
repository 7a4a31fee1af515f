"""Writes what the code of each stage means; stage `code` of dvc.yaml runs it."""

from pathlib import Path

from flows.repository.code import FOLDER, StageCode
from flows.repository.terminal import fitted, terminal_width


def main() -> None:
    """Write what the code of each stage means to fingerprints/code/, and name the stages whose code changed."""
    changed = StageCode(Path()).write()
    print(fitted(f"{FOLDER}: {'changed: ' + ', '.join(changed) if changed else 'unchanged'}", terminal_width()))
