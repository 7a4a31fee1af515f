"""Stage `export`: the dataset as files in SimSUM's layout and for Hugging Face, with its card."""

from flows.runtime.stage import Stage
from flows.runtime.tables import write_folder
from tasks.dataset.export import dataset_files, visit_splits
from tasks.network.visits import visit_dates


async def run(stage: Stage) -> None:
    """Write the dataset's folder: the records, and the patients with several visits."""
    statistics, visits = stage.load_metrics("span_statistics"), stage.load("visits")
    over_time = visit_splits(
        visits,
        visit_dates(visits),
        stage.load("visit_notes"),
        test_share=stage.params.baselines.test_share,
        validation_share=stage.params.export.validation_share,
        seed=stage.params.seed,
    )
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
        over_time=over_time,
    )
    write_folder(stage.out("dataset"), files)
