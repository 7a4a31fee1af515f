"""Reads earlier outputs from DVC's cache, its remote, and git's last commit.

DVC deletes a stage's outputs before it runs the stage. The outputs that dvc.lock names are still in DVC's cache, and
those that git tracks are in its last commit, so a failed stage can have its previous outputs restored.
"""

import logging
import shutil
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from flows.repository.git import git
from flows.repository.lock import read_lock
from flows.repository.pipeline import stage_files
from flows.repository.workspace import root
from schemas.errors import SourceError, VignetteError


def cached_file(md5: str) -> Path | None:
    """The cached file with that hash; None when the cache lacks it, or the hash is that of a folder."""
    if len(md5) < 3 or md5.endswith(".dir"):
        return None
    file = cache_folder(root()) / md5[:2] / md5[2:]
    return file if file.is_file() else None


@lru_cache
def cache_folder(repository: Path) -> Path:
    """The folder of DVC's cached files, wherever its configuration puts it."""
    from dvc.repo import Repo  # takes a second

    with Repo(str(repository)) as repo:
        return Path(repo.cache.local.path)


def fetch(hashes: Collection[str]) -> list[str]:
    """Download the files with these hashes from DVC's default remote into the cache; returns those that it lacks.

    Raises SourceError when the clone has no remote or it cannot be reached.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc_data.hashfile.hash_info import HashInfo

    logging.getLogger("dvc.data_cloud").setLevel(logging.ERROR)  # it lists the hashes that are returned here
    try:
        with Repo(str(root())) as repo:
            failed = repo.cloud.pull([HashInfo("md5", md5) for md5 in sorted(hashes)]).failed
    except DvcException as error:
        raise SourceError(f"DVC's remote cannot be read: {error}") from error
    return sorted(info.value for info in failed)


def push_artefacts(folder: Path, revision: str) -> None:
    """Upload the artefacts of a commit of the repository in ``folder``; raises SourceError when that fails."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo(str(folder)) as repo:
            repo.push(revs=[revision], workspace=False)
    except (DvcException, OSError) as error:
        raise SourceError(f"dvc push of {revision}: {error}") from error


def restore_outputs(pipeline: Path, name: str) -> list[Path]:
    """Restore each declared output of the stage that is missing; returns the restored ones."""
    try:
        declared = stage_files(pipeline, name).outs.values()
        locked = read_lock(pipeline.with_suffix(".lock")).get("stages", {}).get(name, {})
    except (OSError, VignetteError):
        return []
    md5 = {out["path"]: str(out.get("md5", "")) for out in locked.get("outs", [])}
    restored = []
    for path in (path for path in declared if not path.exists()):
        if cached := cached_file(md5.get(str(path), "")):
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(cached, path)
            restored.append(path)
        elif git("checkout", "--quiet", "HEAD", "--", str(path), folder=Path()) is not None:
            restored.append(path)
    return restored
