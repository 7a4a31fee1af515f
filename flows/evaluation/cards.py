"""A card as files and in the terminal: written, read again, compared, and exchanged with other harnesses."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flows.evaluation.audit import Audit, all_cases, reasons
from flows.evaluation.folder import table_files
from flows.evaluation.work import Evaluation
from flows.lineage.origin import citation, code_rows, running_code
from flows.runtime.folders import read_written, require_new_file, write_new_file
from schemas.errors import ParamsError, SourceError, UnscoredError
from schemas.params import Params
from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import VERDICTS, verdict_table
from tasks.audit.card import CHANGE_NAMES, Practice, judged_by_models, limits, verdict_lines, weaknesses
from tasks.audit.cases import FILLER
from tasks.audit.comparisons import MISSED, OPEN, against, change_lines, requirements
from tasks.audit.correction import corrected_rows, label_plans
from tasks.audit.page import card_page, people_tables, rate_tables
from tasks.audit.trials import ASKED, about_kind
from tasks.measures.doclens.evaluators import most_claims
from tasks.progress import number_of
from tasks.reporting.evaluation_text import DRY_RUN, RULES
from tasks.reporting.show import terminal
from tasks.texts.document import Document
from tasks.texts.fields import Defects
from tasks.transport.shown import public_params
from tasks.transport.untrusted import json_lines, of_form, parse_json, read_bytes

FORMAT, EXPORT = "vignette-audit", "vignette audit --export"


def card_files(
    card: pd.DataFrame,
    verdicts: pd.DataFrame,
    cases: pd.DataFrame,
    changes: pd.DataFrame | None,
    made_from: Mapping[str, Any],
    people: pd.DataFrame,
) -> dict[str, bytes]:
    """Contents of a card's files by name: figures and verdicts as CSV and parquet, all figures as JSON, the page.

    ``cases``, ``changes``, ``made_from`` and ``people`` as of `tasks.audit.page.card_page`.
    """
    origin = code_rows(made_from["code"])
    page = card_page(
        card, verdicts, cases, changes=changes, made_from=made_from, origin_rows=origin, cite=citation(origin),
        people=people,
    )  # fmt: skip
    figures = json.loads(card.to_json(orient="records"))
    content = json.dumps({**made_from, "figures": figures}, indent=2, ensure_ascii=False)
    return {
        "card.html": page.encode(),
        **table_files("card", card, METRICS),
        **table_files("verdicts", verdicts, VERDICTS),
        "card.json": f"{content}\n".encode(),
        **(table_files("people", people, METRICS) if len(people) else {}),
    }


def stems(files: Sequence[Path]) -> dict[str, Path]:
    """Files by the name of the judge whose verdicts they have. Raises ParamsError for two of one name, SourceError."""
    found: dict[str, Path] = {}
    for file in files:
        next(json_lines(file), None)  # before the cases are made, which takes a minute
        if file.stem in found:
            raise ParamsError(f"--verdicts {file}: a file of judge {file.stem} is {found[file.stem]}; rename one")
        found[file.stem] = file
    return found


def provenance(
    audit: Audit, verdicts: pd.DataFrame, every: Sequence[Params], made_of: str, seed: int = 1
) -> dict[str, Any]:
    """What a card was made from: cases, ``made_of`` which texts, judges with their settings, prompts' style, code."""
    judges = sorted(verdicts["judge"].unique())
    roles = [params.roles["judge"] for params in every]
    fields = {"model", "base_url", "temperature", "top_p", "max_tokens"}
    settings = [public_params(role.model_dump(mode="json", include=fields, exclude_none=True)) for role in roles]
    given = [params.doclens for params in every[:1]]
    style = [f"{one.evaluator}, {one.style}, up to {most_claims(one.style, one.claims_a_call)} a call" for one in given]
    return {
        "source": made_of,
        "seed": seed,
        "cases": len(verdicts.loc[verdicts["condition"] == "", ["metric", "unit"]].drop_duplicates()),
        "texts": len(audit.texts),
        "kind_of_texts": kind_of_texts(audit.texts.values()),
        "tasks": list(audit.tasks),
        "left_out": reasons(audit, every) or "nothing",
        "judges": judges,
        "settings": settings,
        "claims_judged_by": style[0] if style else "verdicts from elsewhere",
        "code": running_code(),
    }


def read_card(folder: Path) -> pd.DataFrame:
    """VERDICTS of an earlier card. Raises SourceError for a folder without one."""
    return read_written(folder / "verdicts.parquet", VERDICTS, "the verdicts of a card", "vignette audit --out")


def card_of(folder: Path, judge: str, name: str | None = None) -> pd.DataFrame:
    """VERDICTS of a judge, by its label or the ``name`` that it was given.

    Raises SourceError for a card that has none of that judge.
    """
    verdicts = read_card(folder)
    own = verdicts[verdicts["judge"].isin([judge, name])]
    if own.empty:
        known = ", ".join(sorted(verdicts["judge"].unique()))
        raise SourceError(
            f"{folder}: a card of {known}, and the judge is {judge}; make its "
            "card with vignette audit, or choose the judge of the card"
        )
    return own


def corrected(
    evaluation: Evaluation, card: Path, judge: str, name: str | None, seed: int
) -> tuple[Evaluation, list[str]]:
    """The evaluation with scores corrected for the judge's errors on its card, and why others are not corrected."""
    if RULES in judge:
        return evaluation, [f"scores are not corrected by {card}: {DRY_RUN}"]
    metrics, about = evaluation.tables["metrics"], f"corrected by the card {card.resolve().name} of {judge}"
    other = other_kind(card, (one.text for one in evaluation.documents))
    scores, known = evaluation.tables["scores"], card_of(card, judge, name)
    rows, refused = corrected_rows(scores, metrics, known, seed=seed, provenance=about, other_sources=other)
    return evaluation.with_table("metrics", pd.concat([metrics, rows], ignore_index=True)), refused


def kind_of_texts(texts: Iterable[str]) -> str:
    """Dialogues, if more than half of the texts are, else notes."""
    are = [Document("", (text,)).is_dialogue for text in texts]
    return "dialogues" if 2 * sum(are) > len(are) else "notes"


def other_kind(folder: Path, sources: Iterable[str]) -> str | None:
    """Why a card says nothing of verdicts on what such sources support; None where its texts are of their kind."""
    file, found = folder / "card.json", kind_of_texts(sources)
    with of_form(str(file), "not the description of a card; make the card again"):
        known = parse_json(read_bytes(file).decode()).get("kind_of_texts", found) if file.is_file() else found
    return None if known == found else f"the card's cases are of {known}, and the sources are {found}"


def write_cases(file: Path, audit: Audit, params: Params) -> None:
    """Write the cases of all tasks without the truth, and the truth with its reason beside it, as JSON Lines by id."""
    truths = file.parent / f"{file.stem}-truth{file.suffix}"
    for one in (file, truths):
        require_new_file(one, EXPORT)
    cases = all_cases(audit, params)
    asked = cases["metric"].replace(FILLER, "claims")
    named = cases.rename(columns={"metric": "task", "condition": "factor", "text": "claim"}).reset_index(drop=True)
    shown = named.assign(task=asked.to_numpy(), question=[ASKED[task].question for task in asked])
    about = pd.DataFrame([about_kind(kind) for kind in cases["kind"]], columns=["difficulty", "reason"])
    truth = pd.concat([named.assign(truth=named["truth"].astype(bool)), about], axis=1)
    columns = ["id", "task", "kind", "factor", "difficulty", "truth", "reason", "pair"]
    written = {file: shown[["id", "task", "question", "call", "premise", "claim"]], truths: truth[columns]}
    for one, table in written.items():
        write_new_file(one, table.to_json(orient="records", lines=True, force_ascii=False).encode(), EXPORT)
    print(f"{number_of(len(shown), 'case')} written to {file}, their truth to {truths}")


def returned(files: Iterable[Path], audit: Audit, params: Params) -> tuple[pd.DataFrame, dict[str, Practice]]:
    """VERDICTS of files on the exported cases; nothing is known of the calls."""
    cases = all_cases(audit, params)
    return pd.concat([_verdicts(file, cases) for file in files], ignore_index=True), {}


def _verdicts(file: Path, cases: pd.DataFrame) -> pd.DataFrame:
    """VERDICTS on the cases from JSON Lines with id and judged. Raises SourceError with one line for each defect."""
    known, found, defects = set(cases["id"]), dict[str, bool | None](), Defects()
    for number, entry in json_lines(file):
        where = f"{file}: line {number}"
        if not (isinstance(entry, dict) and {"id", "judged"} <= set(entry)):
            defects.add(where, f'expected {{"id": ..., "judged": true or false}}, found {str(entry)[:60]!r}')
            continue
        name, judged = entry["id"], entry["judged"]
        if not isinstance(name, str) or name not in known:
            said = "is no case; export the cases with the same --seed, --cases, --tasks and --texts"
            defects.add(where, f"{name!r} {said}")
        elif name in found:
            defects.add(where, f"{name!r} has two verdicts; keep one")
        elif not (judged is None or isinstance(judged, bool)):
            defects.add(where, f"judged is {judged!r}; expected true, false or null")
        else:
            found[name] = judged
    defects.refuse()
    if not found:
        raise SourceError(f"{file}: no verdict; expected a line for each case")
    places = cases.groupby("call", sort=False).cumcount().astype(str)
    given = {None: None, True: 1.0, False: 0.0}
    frame = cases.assign(value=[given[found.get(name)] for name in cases["id"]], item=places)
    return verdict_table(frame[frame["metric"] != FILLER].to_dict("records"), judge=file.stem)


def require_common(audit: Audit, earlier: pd.DataFrame | None) -> None:
    """Raise SourceError before anything is asked if an earlier card has too few of the claims to tell a change."""
    if earlier is None or "claims" not in audit.tasks:
        return
    cases = audit.cases[audit.cases["metric"] == "claims"]
    known = earlier[earlier["metric"] == "claims"].drop_duplicates(["unit", "condition"])
    try:
        against(cases.assign(judge="", value=1.0), known.assign(judge="", value=1.0))
    except ValueError as error:
        raise SourceError(f"--against: {error}") from error


def compared(
    verdicts: pd.DataFrame, earlier: pd.DataFrame | None, out: Path
) -> tuple[pd.DataFrame | None, SourceError | None]:
    """The changes since an earlier card, or why there is no comparison, which is raised once the card is written."""
    try:
        return None if earlier is None else against(verdicts, earlier), None
    except ValueError as error:
        return None, SourceError(f"--against: {error}; the card is written to {out}")


def print_card(
    card: pd.DataFrame,
    agreement: pd.DataFrame,
    taken: Mapping[str, Practice],
    changes: pd.DataFrame | None,
    required: Mapping[str, float],
    plan: int | None,
    seed: int,
    out: Path,
) -> int:
    """Print the card; the exit status: 2 if the judge got worse or misses a requirement, else 3 if one is open."""
    print("\n".join(verdict_lines(card)))
    for table in [*rate_tables(card), *people_tables(agreement)]:
        print("\n" + terminal(table))
    print("\n".join(["", *weaknesses(card), *limits(card)]))
    for judge, practice in taken.items():
        if practice.failures:
            print(_why(practice, f"{judge}: calls without a usable reply: "))
    if plan is not None:
        print("\n".join(["", *label_plans(card, plan, seed=seed)]))
    tested = None if changes is None else judged_by_models(changes, "judge")
    worse, other = ([], []) if tested is None or tested.empty else change_lines(tested)
    if changes is not None and tested is not None and len(changes) > len(tested):
        other = [*other, f"the {RULES} are not compared with the earlier card"]
    if changes is not None:
        known = {*zip(changes["judge"], changes["task"], strict=True)}
        asked = judged_by_models(card[card["metric"] == "answered"])[["system", "condition"]]
        new = [": ".join(one) for one in asked.itertuples(index=False, name=None) if one not in known]
        without = "not compared, as the earlier card has no judge of this name with such cases: "
        other += [without + "; ".join(new)] if new else []
    found = requirements(card, required, CHANGE_NAMES)
    said = [*worse, *other, *(f"required, {state}: {line}" for state, line in found)]
    print("\n".join(["", *said, f"written: {out / 'card.html'}, {out / 'card.csv'}"]))
    states = {state for state, _ in found}
    return 2 if worse or MISSED in states else 3 if OPEN in states else 0


def _why(practice: Practice, before: str) -> str:
    """The most frequent reasons of calls without a usable reply, after ``before``; empty where all had one."""
    found = sorted(practice.failures.items(), key=lambda item: -item[1])[:3]
    return (
        before + "; ".join(f"{reason[:200]} ({number_of(count, 'call')})" for reason, count in found) if found else ""
    )


def require_answers(found: pd.DataFrame, taken: Mapping[str, Practice], allowed: float) -> None:
    """Raise UnscoredError for a model without a verdict on any case, or on more than the share ``allowed``, with why.

    Rules have none on tasks that they do not know. Verdicts from elsewhere may have gaps.
    """
    lines = []
    for judge, own in judged_by_models(found, "judge").groupby("judge", sort=True):
        failed = int(own["value"].isna().sum())
        if failed < len(own) and (judge not in taken or failed <= allowed * len(own)):
            continue
        said = f"{judge}: {failed} of {len(own)} cases have no verdict"
        if failed < len(own):
            said += f", more than runtime.max_unscored_share {allowed:g}"
        lines.append(said + (_why(taken[judge], "; why: ") if judge in taken else ""))
    if lines:
        raise UnscoredError(
            "\n".join(lines) + "\ndoes the model follow instructions and reply in JSON? `vignette store export` writes "
            "its replies"
        )
