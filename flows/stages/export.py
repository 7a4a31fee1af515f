"""Stage `export`: the dataset as files in SimSUM's layout and for Hugging Face, with card and Croissant file."""

from flows.runtime.stage import Stage
from flows.runtime.tables import write_folder
from tasks.dataset.export import dataset_files


async def run(stage: Stage) -> None:
    """Write the dataset's folder."""
    statistics = stage.load_metrics("span_statistics")
    files = dataset_files(
        stage.load("records"),
        stage.load("prompts"),
        stage.load("notes"),
        stage.load("compact_notes"),
        stage.load("spans"),
        stage.load("split"),
        stage.params.export,
        annotated_by=tuple(sorted(statistics["provenance"].unique())),
        seed=stage.params.seed,
        domain=stage.params.domain,
    )
    write_folder(stage.out("dataset"), files)
