"""Packages the exported dataset for Zenodo, or pushes it to a Hugging Face repository."""

import json
from pathlib import Path
from typing import Annotated

import typer

from flows.engine.params import load_params
from flows.engine.pipeline import MAIN, stage_files
from flows.engine.tables import write_folder
from schemas.errors import SourceError
from schemas.params.notes import Export
from tasks.dataset.hub import push_dataset
from tasks.dataset.release import open_points, require_publishable
from tasks.dataset.zenodo import METADATA, archive, archive_name, zenodo_metadata


def main(
    out: Annotated[
        Path | None, typer.Option(help="Folder for the archive and Zenodo's metadata, replaced as a whole.")
    ] = None,
    push: Annotated[
        str | None, typer.Option(metavar="NAMESPACE/NAME", help="Hugging Face dataset repository to commit to.")
    ] = None,
    public: Annotated[bool, typer.Option(help="Create the repository public instead of private.")] = False,
) -> None:
    """Publish the dataset of the last run: --out packs an archive for Zenodo, --push commits to Hugging Face."""
    if out is None and push is None:
        raise SourceError("nothing to do; give --out FOLDER, --push NAMESPACE/NAME, or both")
    export = load_params().export
    files = exported_files()
    require_publishable(files, export)
    if out is not None:
        write_folder(out, _packed(files, export))
        print(f"{archive_name(export)} and {METADATA} written to {out}")
    if push is not None:
        print(f"pushed: {push_dataset(files, push, message=f'{export.name} {export.version}', public=public)}")
    for point in open_points(export):
        print(f"before you make it public: {point}")


def exported_files() -> dict[str, bytes]:
    """The files of stage `export` by their path within the dataset. Raises SourceError when it has not run."""
    folder = stage_files(MAIN, "export").out("dataset")
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; run `vignette repro`, which exports the dataset")
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _packed(files: dict[str, bytes], export: Export) -> dict[str, bytes]:
    described = json.loads(files["croissant.json"])["description"]
    return {archive_name(export): archive(export, files), METADATA: zenodo_metadata(export, described).encode()}
