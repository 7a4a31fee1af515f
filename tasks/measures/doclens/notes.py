"""Generated notes as documents: the compact note against the note, and the note against what its prompt requests."""

import json
from collections.abc import Mapping, Sequence

import pandas as pd

from schemas.params.measures import DocLens
from schemas.tables.columns import typed
from schemas.tables.evaluation import CITED_OUTPUTS
from tasks.domains.rules import PromptingRules
from tasks.llm.calls import Ask, unscored_table
from tasks.measures.doclens.judging import Plan, judge
from tasks.measures.doclens.writing import write_outputs, writer
from tasks.texts.document import WHOLE, Document, Tables

COMPACT, PROMPTED, CITED = "compact notes", "notes against prompts", "cited compact notes"


def note_documents(notes: pd.DataFrame, compact: pd.DataFrame) -> list[Document]:
    """Documents with the note as source and reference, and its compact version as output."""
    merged = notes.merge(compact[["record", "compact"]], on="record").sort_values("record")
    return [
        Document(str(row.record), (row.note,), row.note, outputs={COMPACT: row.compact}, dialogue=False)
        for row in merged.itertuples()
    ]


def prompted_documents(notes: pd.DataFrame, prompts: pd.DataFrame, rules: PromptingRules) -> list[Document]:
    """Documents with the note as output and the prompt's requested symptoms as reference.

    Prompts allow the writer to add context, so claim precision would not measure conciseness. Records whose prompt asks
    for no symptom are left out, as they have nothing to recall.
    """
    merged = notes.merge(prompts, on="record", suffixes=("", "_prompt")).sort_values("record")
    found = []
    for row in merged.to_dict("records"):
        mention, values, descriptors = (json.loads(row[name]) for name in ("mention", "values", "descriptors"))
        if claims := prompt_claims(mention, values, descriptors, rules):
            outputs, given = {PROMPTED: row["note"]}, {WHOLE: claims}
            found.append(Document(str(row["record"]), (), " ".join(claims), claims=given, outputs=outputs))
    return found


def prompt_claims(
    mention: Sequence[str], values: Mapping[str, str], descriptors: Mapping[str, str | None], rules: PromptingRules
) -> tuple[str, ...]:
    """Claims requested by a prompt: each symptom with its value, and its descriptor as a separate claim."""
    claims = []
    for symptom in mention:
        name = rules.labels.get(symptom, symptom)
        claims.append(f"The patient {_state(rules, symptom, name, values[symptom])}.")
        if descriptors.get(symptom):
            claims.append(f"The patient's {name}: {descriptors[symptom]}.")
    return tuple(claims)


def _state(rules: PromptingRules, symptom: str, name: str, value: str) -> str:
    if value in (worded := rules.claims.get(symptom, {})):
        return f"has {worded[value]}"
    if value == rules.absent_value.get(symptom, "no"):
        return f"does not have {name}"
    return f"has {name}" if rules.is_plain(symptom) else f"has {value} {name}"


async def judge_notes(
    write: Ask,
    ask: Ask,
    notes: pd.DataFrame,
    compact: pd.DataFrame,
    prompts: pd.DataFrame,
    rules: PromptingRules,
    params: DocLens,
) -> Tables:
    """Tables judged (CLAIMS), unscored, and cited (CITED_OUTPUTS): compact notes that cite the notes' sentences."""
    citing = writer("cited_compact", params.writer_examples, name=CITED)
    documents, unwritten = await write_outputs(write, note_documents(notes, compact), [citing])
    own = await judge(ask, documents, Plan(citing=[CITED], claimed=[COMPACT], expected=[CITED]), params)
    prompted = Plan(precision=False, glossary=rules.glossary)
    asked = await judge(ask, prompted_documents(notes, prompts, rules), prompted, params)
    cited = [
        {"record": int(one.id), "cited": one.outputs[CITED], "provenance": write.label}
        for one in documents
        if CITED in one.outputs
    ]
    unscored = [unscored_table(unwritten), own["unscored"], asked["unscored"]]
    return {
        "judged": pd.concat([own["judged"], asked["judged"]], ignore_index=True),
        "cited": typed(cited, CITED_OUTPUTS),
        "unscored": pd.concat(unscored, ignore_index=True),
    }
