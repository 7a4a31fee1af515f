"""Which code a result is made by, revision, date of the commit or installed version, and how to cite it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import yaml

from flows.repository.git import changed_files, git, head_revision
from flows.repository.workspace import SHIPPED, shipped
from schemas.errors import VignetteError
from tasks.code import FOLDERS

CITATION = "CITATION.cff"


def running_code() -> dict[str, Any]:
    """``version`` of the code that runs, and as far as known its ``revision``, ``date`` and whether it is ``changed``.

    That is the repository that the code lies in, or what an installer notes of an installation from git (PEP 610);
    never that of the working directory, which may be another project's.
    """
    installed = distribution("vignette")
    known = {"version": installed.version}
    if (SHIPPED[0] / ".git").exists():
        with suppress(VignetteError):  # git is missing, or refuses a tree of another user
            return known | commit(SHIPPED[0], *FOLDERS)
    revision = json.loads(installed.read_text("direct_url.json") or "{}").get("vcs_info", {}).get("commit_id")
    return known | ({"revision": revision} if revision else {})


def commit(folder: Path, *paths: str) -> dict[str, Any]:
    """``revision`` and ``date`` of the commit that is checked out, and whether ``paths`` are ``changed`` since.

    Empty outside of a repository.
    """
    revision = head_revision(folder)
    if not revision:
        return {}
    date = (git("show", "--no-patch", "--format=%cs", "HEAD", folder=folder) or b"").decode().strip()
    return {"revision": revision, "date": date, "changed": changed_files(*paths, folder=folder)}


def code_rows(code: Mapping[str, Any]) -> dict[str, str]:
    """What a page names of `commit` or `running_code`, by name."""
    rows = {"version": str(code["version"])} if "version" in code else {}
    if revision := code.get("revision"):
        rows["code revision"] = revision[:10] + (" with uncommitted changes" if code.get("changed") else "")
    if date := code.get("date"):
        rows["date of the commit"] = date
    return rows


def citation(rows: Mapping[str, str], folder: Path | None = None) -> str:
    """How to cite what ``rows`` identify, from CITATION.cff of a working tree, by default of the code that runs."""
    file = shipped(CITATION) if folder is None else folder / CITATION
    cited = yaml.safe_load(file.read_text(encoding="utf-8"))
    authors = ", ".join(author["name"] for author in cited["authors"])
    of = ", ".join(f"{name} {value}" for name, value in rows.items() if name != "version")
    return f"{authors}. {cited['title']}, version {cited['version']}{f' ({of})' if of else ''}."
