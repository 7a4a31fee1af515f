"""Every method on a user's documents: what is planned, written and judged, and the judgements as tables.

Each method is one function on documents; this module only chooses them and puts their tables together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.evaluate import UNSCORED_OUTPUTS
from tasks.llm.calls import Ask, unscored_table
from tasks.measures.doclens import judging as doclens
from tasks.measures.doclens.metrics import STAGE as DOCLENS
from tasks.measures.doclens.writing import Writer, write_outputs, writer
from tasks.measures.grounding import judging as grounding
from tasks.measures.grounding.metrics import STAGE as GROUNDING
from tasks.measures.med_omit import judging as med_omit
from tasks.measures.med_omit.metrics import STAGE as MED_OMIT
from tasks.measures.note_qa import judging as note_qa
from tasks.texts.document import Document, Tables, documents_of, documents_table, system_names
from tasks.texts.reading import DataSet

Asks = Callable[[RoleName], Ask]
WRITING = "writing"
"""Method of unscored rows of outputs that are missing or could not be written."""


@dataclass(frozen=True)
class Plan:
    """What is done with the documents: outputs of the writer, methods, and how each method judges.

    ``systems``: all systems, of each of which every document should have an output; ``citing``: those whose citations
    are judged, and left out where other methods read the outputs.
    """

    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    citing: tuple[str, ...]
    writers: tuple[Writer, ...] = ()
    claims: doclens.Plan = field(default_factory=doclens.Plan)
    omissions: med_omit.Plan = field(default_factory=med_omit.Plan)

    def plain(self, documents: Sequence[Document]) -> list[Document]:
        """The documents with outputs without citation marks."""
        texts = doclens.output_texts(documents, self.citing)
        return [replace(one, outputs={name: texts[name][one.id] for name in one.outputs}) for one in documents]


def plan_of(chosen: Evaluate, data: DataSet) -> Plan:
    """The plan of an evaluation of ``data``."""
    prompt = writer_prompt(data)
    writers = tuple(
        writer(prompt if by == "whole" else "cited_note", count, by_section=by == "section")
        for by in chosen.write_by
        for count in chosen.write
    )
    written = [one.name for one in writers]
    systems = tuple(dict.fromkeys([*system_names(data.documents), *written]))
    citing = tuple(sorted({*doclens.citing_systems(data.documents), *written}))
    sections = data.sectioning if chosen.sections == "auto" else chosen.sections
    history = chosen.omissions == "history" or (chosen.omissions == "auto" and data.layout == "aci_bench")
    return Plan(
        tuple(chosen.metrics),
        systems,
        citing,
        writers,
        doclens.Plan(sections, citing=citing, expected=systems),
        med_omit.Plan("history" if history else "whole"),
    )


def writer_prompt(data: DataSet) -> str:
    """The writer's prompt file for a layout: a question, an impression, a dialogue's note or a summary."""
    known = {"meqsum": "cited_question", "radiology": "cited_impression"}
    dialogues = sum(document.is_dialogue for document in data.documents)
    return known.get(data.layout) or ("cited_note" if dialogues > len(data.documents) / 2 else "cited_compact")


async def evaluate_chunk(plan: Plan, frames: Tables, ask: Asks, params: Params) -> Tables:
    """Outputs written and all judged for one chunk of DOCUMENTS.

    Tables documents (with all outputs), unscored (UNSCORED_OUTPUTS), and those of each chosen method.
    """
    documents = documents_of(frames["documents"])
    unscored = []
    if plan.writers:
        documents, failed = await write_outputs(ask("writer"), documents, plan.writers)
        unscored.append(_unscored(unscored_table(failed), WRITING, plan.systems))
    written = {system.name for system in plan.writers}
    missing = [
        {"document": one.id, "system": system, "method": WRITING, "step": "output", "reason": "the data has no output"}
        for one in documents
        for system in plan.systems
        if system not in one.outputs and system not in written
    ]
    unscored.append(typed([{**row, "detail": None} for row in missing], UNSCORED_OUTPUTS))
    made: Tables = {}
    plain = plan.plain(documents)
    if "doclens" in plan.metrics:
        made |= await doclens.judge(ask("judge"), documents, plan.claims, params.doclens)
        unscored.append(_unscored(made.pop("unscored"), DOCLENS, plan.systems))
    if "grounding" in plan.metrics:
        made |= await grounding.judge(ask("judge"), documents, plan.claims, params.doclens)
        unscored.append(_unscored(made.pop("unscored"), GROUNDING, plan.systems))
    if "med_omit" in plan.metrics:
        from tasks.encoder import unit_vectors  # imports torch, which takes seconds and only MED-OMIT needs

        encode = unit_vectors(params.embed.encoder, params.embed.precision, params.embed.device)
        made |= await med_omit.judge(ask("judge"), plain, plan.omissions, params.med_omit, encode)
        unscored.append(_unscored(made.pop("unscored"), MED_OMIT, plan.systems))
    if "qa" in plan.metrics:
        made |= await note_qa.judge(ask, plain, plan.systems, params.note_qa)
        unscored.append(_unscored(made.pop("unscored"), note_qa.STAGE, plan.systems))
    return {**made, "documents": documents_table(documents), "unscored": pd.concat(unscored, ignore_index=True)}


def _unscored(rows: pd.DataFrame, method: str, systems: Sequence[str]) -> pd.DataFrame:
    """UNSCORED rows of a method as UNSCORED_OUTPUTS: a step ``... of SYSTEM`` concerns that system, others all."""
    named = [_split_step(step, systems) for step in rows["step"]]
    steps, owners = [step for step, _ in named], [system for _, system in named]
    return typed(
        rows.rename(columns={"record": "document"}).assign(method=method, step=steps, system=owners), UNSCORED_OUTPUTS
    )


def _split_step(step: str, systems: Sequence[str]) -> tuple[str, str | None]:
    found = max((system for system in systems if step.endswith(f" of {system}")), key=len, default=None)
    return (step, None) if found is None else (step.removesuffix(f" of {found}"), found)


SORTED: Mapping[str, Sequence[str]] = {
    "judged": ["document", "system", "condition", "item", "metric", "position"],
    "grounded": ["document", "system", "item", "position"],
    "facts": ["document", "fact"],
    "omitted": ["document", "system", "fact"],
    "differences": ["document", "system"],
    "answered": note_qa.KEY,
    "unscored": ["document", "system", "method", "step"],
}
"""Order of tables before scores are computed: sums of floats depend on it."""


def in_order(made: Mapping[str, Any]) -> Tables:
    """The tables of all chunks in an order that does not depend on the chunks."""
    return {
        name: table.sort_values(SORTED[name], ignore_index=True, kind="stable") if name in SORTED else table
        for name, table in made.items()
    }
