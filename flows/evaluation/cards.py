"""The files of a card: written, read again, and exchanged with other harnesses."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flows.evaluation.audit import Audit, reasons
from flows.evaluation.folder import table_files
from flows.lineage.origin import citation, code_rows, running_code
from flows.runtime.tables import check
from schemas.errors import ParamsError, SourceError
from schemas.params import Params
from schemas.tables.metrics import METRICS
from schemas.tables.verdicts import VERDICTS, verdict_table
from tasks.audit.cases import FILLER
from tasks.audit.page import card_page
from tasks.audit.trials import ASKED, about_kind
from tasks.measures.doclens.evaluators import most_claims
from tasks.texts.document import Document
from tasks.texts.fields import Defects
from tasks.texts.files import bounded_table
from tasks.transport.shown import public_params
from tasks.transport.untrusted import json_lines, of_form, parse_json, read_bytes

FORMAT = "vignette-audit"


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
    figures = json.loads(card.to_json(orient="records", double_precision=10))
    content = json.dumps({**made_from, "figures": figures}, indent=2, ensure_ascii=False)
    return {
        "card.html": page.encode(),
        **table_files("card", card, METRICS),
        **table_files("verdicts", verdicts, VERDICTS),
        "card.json": f"{content}\n".encode(),
        **(table_files("people", people, METRICS) if len(people) else {}),
    }


def stems(files: Sequence[Path]) -> dict[str, Path]:
    """Files by the name of the judge whose verdicts they have. Raises ParamsError for two of one name."""
    found: dict[str, Path] = {}
    for file in files:
        if file.stem in found:
            raise ParamsError(f"--verdicts {file}: a file of judge {file.stem} is {found[file.stem]}; rename one")
        found[file.stem] = file
    return found


def provenance(audit: Audit, verdicts: pd.DataFrame, every: Sequence[Params]) -> dict[str, Any]:
    """What a card was made from: cases, judges with their endpoint and settings, the prompts' style, the code."""
    judges = sorted(verdicts["judge"].unique())
    roles = [params.roles["judge"] for params in every]
    fields = {"model", "base_url", "temperature", "top_p", "max_tokens"}
    settings = [public_params(role.model_dump(mode="json", include=fields, exclude_none=True)) for role in roles]
    given = [params.doclens for params in every[:1]]
    style = [f"{one.evaluator}, {one.style}, up to {most_claims(one.style, one.claims_a_call)} a call" for one in given]
    return {
        "cases": int(audit.cases.loc[audit.cases["metric"] != FILLER, "unit"].nunique()),
        "texts": len(audit.texts),
        "kind_of_texts": kind_of_texts(audit.texts.values()),
        "tasks": list(audit.tasks),
        "takes": audit.takes,
        "left_out": reasons(audit, every) or "nothing",
        "judges": judges,
        "settings": settings,
        "claims_judged_by": style[0] if style else "verdicts from elsewhere",
        "code": running_code(),
    }


def read_card(folder: Path) -> pd.DataFrame:
    """VERDICTS of an earlier card. Raises SourceError for a folder without one."""
    file = folder / "verdicts.parquet"
    if not file.is_file():
        raise SourceError(f"{file}: no such file; expected a folder that `vignette audit --out` wrote")
    try:
        bounded_table(file)
        return check(pd.read_parquet(file), VERDICTS, str(file))
    except (OSError, ValueError) as error:
        raise SourceError(f"{file}: not the verdicts of a card ({error}); make the card again") from error


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


def exported(cases: pd.DataFrame) -> tuple[str, str]:
    """Cases of all tasks without the truth, and the truth with its reason, as JSON Lines by id."""
    asked = cases["metric"].replace(FILLER, "claims")
    named = cases.rename(columns={"metric": "task", "condition": "factor", "text": "claim"}).reset_index(drop=True)
    shown = named.assign(task=asked.to_numpy(), question=[ASKED[task].question for task in asked])
    about = pd.DataFrame([about_kind(kind) for kind in cases["kind"]], columns=["difficulty", "reason"])
    truth = pd.concat([named.assign(truth=named["truth"].astype(bool)), about], axis=1)
    return (
        _lines(shown[["id", "task", "question", "call", "premise", "claim"]]),
        _lines(truth[["id", "task", "kind", "factor", "difficulty", "truth", "reason", "pair"]]),
    )


def _lines(table: pd.DataFrame) -> str:
    return str(table.to_json(orient="records", lines=True, force_ascii=False))


def returned(file: Path, cases: pd.DataFrame) -> pd.DataFrame:
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
