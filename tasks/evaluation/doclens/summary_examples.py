"""The systems of the writer on short summaries: numbers of in-context examples, with and without citations."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from schemas.errors import SourceError
from schemas.params.summaries import Summaries
from tasks.evaluation.doclens.citations import number_sentences, read_statements, without_citations
from tasks.evaluation.doclens.cited_outputs import Example
from tasks.evaluation.doclens.outputs_work import writer_name
from tasks.evaluation.doclens.outside import read_radiology
from tasks.evaluation.doclens.setup import writer_examples

CITED = {"questions": "cited_question", "impressions": "cited_impression"}
"""The writer's prompt of each task."""
UNCITED = {"questions": "uncited_question", "impressions": "uncited_impression"}
"""The same without citations (Table 36)."""
Pool = Mapping[str, Sequence[Example]]
"""In-context examples by category."""


def read_pool(file: Path) -> dict[str, list[Example]]:
    """The user's examples by category: reports in the layout of `read_radiology`, whose impressions cite as outputs do.

    Empty without the file. Raises SourceError for an impression without a citation.
    """
    if not file.exists():
        return {}
    pool: dict[str, list[Example]] = {}
    for row in read_radiology(file).itertuples():
        if not any(statement.citations for statement in read_statements(row.reference)):
            raise SourceError(f"{file}: id {row.document}: impression has no citation; expected one such as [3]")
        pool.setdefault(row.category, []).append(Example(number_sentences(row.sentences), row.reference))
    return pool


def writer_systems(task: str, pool: Pool, params: Summaries) -> dict[str, tuple[str, list[Example]]]:
    """Prompt and in-context examples of each system of the writer, by name.

    With a ``pool``, impressions get as many examples of each category as `Summaries.examples` says (0, 6 or 12 for six
    categories, as in Section A.4.4), otherwise the built-in ones.
    """
    systems = {}
    for count in params.examples:
        if task == "impressions" and pool:
            shown = [example for name in sorted(pool) for example in pool[name][:count]]
        else:
            shown = writer_examples(CITED[task], count)
        name = writer_name(len(shown))
        systems[name] = (CITED[task], shown)
        if params.without_citations:
            plain = [Example(example.source, without_citations(example.output)) for example in shown]
            systems[f"{name}, without citations"] = (UNCITED[task], plain)
    return systems
