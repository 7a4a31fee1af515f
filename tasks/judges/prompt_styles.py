"""Accuracy of entailment by prompt style on ACI-BENCH's claims, next to DocLens's printed figures (Appendix A.1).

True claims are GPT-4's subclaims of a section of a reference, false ones the same claims changed by script. The pairs
of Tables 6 and 7 are not released, and the NLI sets of Tables 4 and 5 are not part of the outside data.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from schemas.params.measures import DocLens
from tasks.judges.changes import KINDS, change
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row
from tasks.measures.doclens.evaluators import (
    Evaluator,
    InstructionEvaluator,
    Question,
    SimulatorEvaluator,
    Style,
    make_evaluator,
)
from tasks.statistics.metric_rows import bounds_rows, mean_row, metric_row, metric_table
from tasks.text.soap import split_soap
from tasks.texts.document import WHOLE, Document

STYLES: tuple[Style, ...] = ("plain", "json", "cot", "json_cot")
"""The paper's four."""
CONDITION = "accuracy by prompt style"
UNCHANGED = "claim of the reference"
PRINTED = "printed tables"
NLI_SETS = {
    "anli_r1": ("ANLI-R1", 1000),
    "anli_r2": ("ANLI-R2", 1000),
    "anli_r3": ("ANLI-R3", 1200),
    "mednli": ("MedNLI", 1422),
}
"""Test sets of Table 4, with their printed numbers of pairs."""
_STREAM = 101
_COLUMNS = ["document", "key", "kind", "premise", "claim", "entailed"]
_VERDICTS = ["document", "system", "kind", "entailed", "judged"]


def reference_instances(documents: Sequence[Document], *, claims: int, seed: int) -> pd.DataFrame:
    """Up to ``claims`` claims of each document, drawn with ``seed``, each unchanged and with one change if possible.

    Columns: document, key, kind (`UNCHANGED` or the change), premise (the claim's section), claim and entailed.
    """
    rows = []
    for number, document in enumerate(documents):
        random = np.random.default_rng([seed, _STREAM, number])
        parts = split_soap(document.reference or "")
        listed = [(part, claim) for part, own in (document.claims or {}).items() if part in parts for claim in own]
        for at in sorted(random.choice(len(listed), size=min(claims, len(listed)), replace=False)):
            part, claim = listed[at]
            rows.append((document.id, f"{document.id}/{part}/{at}", UNCHANGED, parts[part], claim, True))
            if (made := _changed(claim, random)) is not None:
                kind, changed = made
                rows.append((document.id, f"{document.id}/{part}/{at}/changed", kind, parts[part], changed, False))
    types = dict.fromkeys(_COLUMNS, "str") | {"entailed": "bool"}
    return pd.DataFrame(rows, columns=_COLUMNS).astype(types)


def _changed(claim: str, random: np.random.Generator) -> tuple[str, str] | None:
    for kind in random.permutation(KINDS):
        if (made := change(claim, kind, random)) is not None:
            return f"{kind} changed", made
    return None


async def judge_styles(
    judge: Ask, instances: pd.DataFrame, params: DocLens, *, rules: bool
) -> tuple[pd.DataFrame, Unscored]:
    """Judge each instance in a call of its own, in each prompt style of the judge.

    The NLI model of ``params``, if there is one, and the simulator's rules, if ``rules``, judge the same instances.
    Returns the verdicts (document, system, kind, entailed, judged) and the instances without one.
    """
    questions = [Question(row.key, row.premise, (row.claim,)) for row in instances.itertuples()]
    tables, unscored = [pd.DataFrame(columns=_VERDICTS)], Unscored()
    for system, evaluator in _evaluators(judge, params, rules=rules):
        verdicts = await evaluator(questions)
        judged = pd.array([verdict.judgements[0] for verdict in verdicts], dtype="boolean")
        tables.append(instances[["document", "kind", "entailed"]].assign(system=system, judged=judged)[_VERDICTS])
        unscored += [unscored_row(v.key, f"{CONDITION}, {system}", v.failure, v.raw) for v in verdicts if v.failure]
    types = {"document": "str", "system": "str", "kind": "str", "entailed": "bool", "judged": "boolean"}
    return pd.concat(tables, ignore_index=True).astype(types), unscored


def _evaluators(judge: Ask, params: DocLens, *, rules: bool) -> Iterator[tuple[str, Evaluator]]:
    for style in STYLES:
        yield f"judge, {style}", InstructionEvaluator(judge, style, params.examples)
    if params.nli_model is not None:
        yield params.nli_model, make_evaluator(params.model_copy(update={"evaluator": "nli"}), judge)
    if rules:
        yield SimulatorEvaluator.label, SimulatorEvaluator()


def style_rows(verdicts: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS of `CONDITION`: accuracy by system over all instances and by kind; failed judgements are unscored."""
    rows = []
    for system, own in verdicts.groupby("system", sort=False):
        for item, chosen in ((WHOLE, own), *own.groupby("kind", sort=True)):
            scored = chosen.dropna(subset="judged")
            right = scored["judged"].astype(bool) == scored["entailed"]
            lost = len(chosen) - len(scored)
            keys = {"system": system, "item": item, "unscored": lost, "seed": seed}
            row = mean_row("accuracy", right, clusters=scored["document"], **keys)
            rows += [row, *bounds_rows(row)]
    return metric_table(rows, stage="doclens", condition=CONDITION, provenance=provenance)


def printed_style_rows(
    two_way: pd.DataFrame, three_way: pd.DataFrame, few: pd.DataFrame, many: pd.DataFrame
) -> pd.DataFrame:
    """METRICS of `CONDITION` with the printed accuracies of Tables 4 to 7, as shares."""
    rows = []
    for column, (name, pairs) in NLI_SETS.items():
        rows += _printed(two_way, column, f"{name} (Table 4)", pairs)
    rows += _printed(three_way, "mednli", "MedNLI, three classes (Table 5)", NLI_SETS["mednli"][1])
    rows += _printed(few, "accuracy", "20 sentences of ACI-BENCH (Table 6)", 20)
    rows += _printed(many, "accuracy", "100 sentences of ACI-BENCH (Table 7)", 100)
    return metric_table(rows, stage="doclens", condition=CONDITION, provenance=PRINTED)


def _printed(table: pd.DataFrame, column: str, item: str, pairs: int) -> list[dict]:
    values = zip(table["model"], table[column], strict=True)
    return [metric_row("accuracy", value / 100, n=pairs, system=model, item=item) for model, value in values]
