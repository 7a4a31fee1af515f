"""The prompt files, and a user's folder that replaces some of them by name.

A prompt is named by its room and file, ``doclens/subclaims``; the folder holds ``doclens/subclaims.txt``. A process
uses one folder at most, that of params.yaml (`prompts.folder`).
"""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

from schemas.errors import ParamsError, did_you_mean

TASKS = Path(__file__).resolve().parents[1]
PACKAGES = tuple(
    ".".join(folder.parent.relative_to(TASKS.parent).parts)
    for folder in sorted([*TASKS.glob("*/prompts"), *TASKS.glob("measures/*/prompts")])
)
"""The rooms that ask, which have a folder ``prompts``."""
_REPLACED: dict[str, str] = {}


def name_of(package: str, name: str) -> str:
    """The name of a room's prompt."""
    return f"{package.rpartition('.')[2]}/{name}"


@cache
def own_prompts() -> dict[str, str]:
    """The texts that ship, by name."""
    return {
        name_of(package, file.name.removesuffix(".txt")): file.read_text(encoding="utf-8")
        for package in PACKAGES
        for file in sorted(files(package).joinpath("prompts").iterdir(), key=lambda file: file.name)
        if file.name.endswith(".txt")
    }


def use_folder(folder: Path | None) -> None:
    """Replace the prompts that ``folder`` has from now on; None: use those that ship.

    Raises ParamsError for a folder that does not exist, for a file of another name, and for one that is not text.
    """
    _REPLACED.clear()
    if folder is None:
        return
    if not folder.is_dir():
        raise ParamsError(f"prompts.folder: {folder}: no such folder; expected ROOM/NAME.txt files, or null")
    for file in sorted(folder.rglob("*.txt")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        if name not in own_prompts():
            said = f"prompts.folder: {file}: no prompt has this name; docs/prompts.md names them"
            raise ParamsError(said + did_you_mean(name, own_prompts()))
        try:
            _REPLACED[name] = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ParamsError(f"prompts.folder: {file}: {error}; expected UTF-8") from error


def text_of(name: str) -> str:
    """The text in use."""
    return _REPLACED.get(name) or own_prompts()[name]


def replaced() -> dict[str, str]:
    """Short hashes of the replaced prompts whose text differs from the one that ships, by name."""
    return {
        name: hashlib.sha256(text.encode()).hexdigest()[:16]
        for name, text in sorted(_REPLACED.items())
        if text != own_prompts()[name]
    }
