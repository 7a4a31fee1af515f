"""DocLens judgements on ACI-BENCH: published outputs by section, and the writer's cited notes."""

import json
from collections.abc import Mapping

import pandas as pd

from schemas.params.doclens import DocLens
from tasks.evaluation.doclens.citations import without_citations
from tasks.evaluation.doclens.cited_outputs import write_cited, write_cited_by_section
from tasks.evaluation.doclens.dialogue_notes import Subclaims, cited_notes, dialogue_turns, section_pairs
from tasks.evaluation.doclens.evaluators import EmbeddedEvaluator, Question
from tasks.evaluation.doclens.judging import Judged, Pair, Unscored, judge_cited_texts, judge_claims, judged_table
from tasks.evaluation.doclens.setup import citation_condition, condition, make_evaluator, writer_examples
from tasks.llm.calls import Ask
from tasks.text.soap import PARTS, split_soap

WRITERS = ("writer (full)", "writer (section)")
Outputs = Mapping[str, Mapping[str, str]]


def pairs_table(encounters: pd.DataFrame, outputs: Outputs, subclaims: Subclaims) -> pd.DataFrame:
    """One row per encounter, so that the work can be chunked: texts, with outputs and subclaims as JSON."""
    rows = [
        (
            row.encounter,
            row.dialogue,
            row.note,
            json.dumps({system: texts[row.encounter] for system, texts in outputs.items() if row.encounter in texts}),
            json.dumps(subclaims[row.encounter]),
        )
        for row in encounters.itertuples()
    ]
    return pd.DataFrame(rows, columns=["encounter", "dialogue", "note", "outputs", "subclaims"])


async def judge_system(
    writer: Ask, judge: Ask, table: pd.DataFrame, params: DocLens
) -> tuple[pd.DataFrame, pd.DataFrame, Unscored]:
    """Judge every system in ``table`` (`pairs_table`) and the writer's cited notes: (JUDGED, texts, unscored rows).

    ``texts`` has the columns document, system and text: the judged texts without citations.
    """
    evaluator, name = make_evaluator(params, judge), condition(params)
    encounters = table[["encounter", "dialogue", "note"]]
    subclaims = {e: json.loads(text) for e, text in zip(table["encounter"], table["subclaims"], strict=True)}
    subclaims = {e: {part: tuple(claims) for part, claims in parts.items()} for e, parts in subclaims.items()}
    outputs = _outputs(table)
    written, unscored = await write_notes(writer, encounters, params)
    done: list[Judged] = []
    plain = {
        system: {encounter: without_citations(text) for encounter, text in texts.items()}
        for system, texts in written.items()
    }
    for system, texts in (outputs | plain).items():
        pairs = section_pairs(encounters, texts, system, subclaims, precision=True)
        done.append(await judge_claims(judge, evaluator, pairs, condition=name))
    one_call = params.citations == "one_call"
    for system, texts in written.items():
        cited = cited_notes(encounters, texts, system)
        how = citation_condition(params)
        done.append(await judge_cited_texts(judge, evaluator, cited, condition=how, one_call=one_call))
    unscored = [*unscored, *(row for one in done for row in one.unscored)]
    rows = [
        (encounter, system, text) for system, texts in (outputs | plain).items() for encounter, text in texts.items()
    ]
    judged = pd.concat([one.table for one in done], ignore_index=True)
    return judged, pd.DataFrame(rows, columns=["document", "system", "text"], dtype="str"), unscored


def _outputs(table: pd.DataFrame) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for encounter, text in zip(table["encounter"], table["outputs"], strict=True):
        for system, output in json.loads(text).items():
            found.setdefault(system, {})[encounter] = output
    return found


async def write_notes(
    writer: Ask, encounters: pd.DataFrame, params: DocLens
) -> tuple[dict[str, dict[str, str]], Unscored]:
    """Have cited notes of the dialogues written, whole and by section; returns them by system and encounter."""
    sources = {row.encounter: dialogue_turns(row.dialogue) for row in encounters.itertuples()}
    examples = writer_examples("cited_note", params.writer_examples)
    full, unscored = await write_cited(writer, "cited_note", sources, examples=examples, section="full")
    sections, more = await write_cited_by_section(writer, sources, examples=examples)
    joined = {encounter: "\n\n".join(parts.values()) for encounter, parts in sections.items()}
    return {WRITERS[0]: full, WRITERS[1]: joined}, [*unscored, *more]


async def embedded_recalls(encounters: pd.DataFrame, outputs: Outputs, subclaims: Subclaims) -> pd.DataFrame:
    """Claim recall judgements (JUDGED) of the outputs on given subclaims by the simulator's rules."""
    evaluator = EmbeddedEvaluator()
    rows: list[tuple[object, ...]] = []
    for system, texts in outputs.items():
        pairs = section_pairs(encounters, texts, system, subclaims, precision=False)
        claims = [pair.reference_claims or () for pair in pairs]
        questions = [Question(pair.key, pair.output, given) for pair, given in zip(pairs, claims, strict=True)]
        for pair, verdict in zip(pairs, await evaluator(questions), strict=True):
            rows += _recall_rows(pair, evaluator.label, verdict.judgements)
    return judged_table(rows)


def _recall_rows(pair: Pair, label: str, judgements: tuple[bool | None, ...]) -> list[tuple[object, ...]]:
    claims = pair.reference_claims or ()
    start = (pair.document, pair.system, label, pair.item, "claim_recall")
    return [(*start, at, claim, judged) for at, (claim, judged) in enumerate(zip(claims, judgements, strict=True))]


def present_shares(encounters: pd.DataFrame, outputs: Outputs, subclaims: Subclaims) -> dict[tuple[str, str], float]:
    """Share of references with claims in a part whose output has that part, by (system, part)."""
    found = {}
    for system, texts in outputs.items():
        parts = {encounter: split_soap(texts[encounter]) for encounter in encounters["encounter"]}
        for part in PARTS:
            asked = [encounter for encounter in parts if subclaims[encounter][part]]
            found[system, part] = sum(part in parts[encounter] for encounter in asked) / len(asked)
    return found
