"""Stage `export`: the dataset as files in SimSUM's layout and for Hugging Face, with card and Croissant file."""

from flows.engine.stage import Stage
from flows.engine.tables import write_folder
from schemas.tables.baselines import SPLIT
from schemas.tables.metrics import METRICS
from schemas.tables.network import records_schema
from schemas.tables.notes import COMPACT_NOTES, NOTES, PROMPTS
from schemas.tables.spans import SPANS
from tasks.dataset.export import dataset_files
from tasks.network.definition import load_definition


async def run(stage: Stage) -> None:
    """Write the dataset's folder."""
    statistics = stage.load("span_statistics", METRICS)
    files = dataset_files(
        stage.load("records", records_schema(load_definition(stage.dep("network")))),
        stage.load("prompts", PROMPTS),
        stage.load("notes", NOTES),
        stage.load("compact_notes", COMPACT_NOTES),
        stage.load("spans", SPANS),
        stage.load("split", SPLIT),
        stage.params.export,
        annotated_by=tuple(sorted(statistics["provenance"].unique())),
        seed=stage.params.seed,
    )
    write_folder(stage.out("dataset"), files)
