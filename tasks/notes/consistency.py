"""The consistency filter (SimSUM, Section 2.2): notes are checked against their prompts, flagged ones rewritten.

The check sees the part of the prompt on symptoms and health conditions, not the rules of style. A flagged note is
rewritten from the prompt that it came from: of a reply with several notes, the one in the record's place is used. All
attempts are kept. A note whose check could not be scored has no verdict and is not rewritten.

Regeneration is a selection: notes are rewritten until they pass, so kept notes are not a random sample of the writer's
notes. Metric rows quantify the difference between the two populations.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field
from scipy.stats import ttest_ind

from schemas.tables.columns import typed
from schemas.tables.records import ATTEMPTS, NOTES
from tasks.llm.ask_all import Unscored, ask_all
from tasks.llm.calls import Ask, Call, Reply, unscored_table
from tasks.llm.prompts import render
from tasks.notes.writing import NoteRequest, sample_index, write_singly
from tasks.statistics.intervals import Floats
from tasks.statistics.metric_rows import NAN, Row, mean_row, metric_row, metric_table

PromptName = tuple[str, str]
"""Package and name of a prompt file."""
CHECK: PromptName = ("tasks.notes", "consistency")


class ConsistencyReply(Reply):
    """Whether a note agrees with the information that it was written from, and where it does not."""

    explanation: str = Field(default="", description="where the note disagrees; empty if it agrees")
    consistent: bool


@dataclass(frozen=True)
class Attempt:
    """One note of a record with its verdict; ``consistent`` is None if the check could not be scored."""

    record: int
    attempt: int
    note: str
    provenance: str
    consistent: bool | None = None
    explanation: str | None = None


async def filter_notes(
    prompts: pd.DataFrame,
    first_notes: pd.DataFrame,
    annotator: Ask,
    writer: Ask,
    *,
    max_attempts: int,
    max_tries: int,
    check: PromptName = CHECK,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Check first notes and rewrite flagged ones, up to ``max_attempts`` in all: (ATTEMPTS, NOTES, UNSCORED).

    The last attempt is kept. ``consistent`` in NOTES is true only if the check said so. ``check`` is its prompt.
    """
    asked = {int(row["record"]): row for row in prompts.to_dict("records")}
    current = _first_attempts(first_notes)
    attempts: list[Attempt] = []
    unscored: Unscored = []
    for number in range(max_attempts):
        calls = {}
        for one in current:
            key, sample = f"{one.record}/consistency/{one.attempt}", sample_index(one.record, one.attempt)
            instructions = str(asked[one.record]["instructions"])
            calls[one.record] = consistency_call(key, instructions, one.note, sample=sample, check=check)
        replies, failed = await ask_all(annotator, calls, ConsistencyReply, f"consistency/{number}")
        unscored += failed
        checked = [
            replace(one, **replies[one.record].model_dump()) if one.record in replies else one for one in current
        ]
        attempts += checked
        flagged = [attempt for attempt in checked if attempt.consistent is False]
        if number + 1 == max_attempts or not flagged:
            break
        requests = []
        for one in flagged:
            row = asked[one.record]
            slot = int(row["slot"]) if row["kind"] == "unrelated" else None
            requests.append(NoteRequest(one.record, str(row["prompt"]), one.attempt + 1, slot=slot))
        written = await write_singly(requests, writer, max_tries=max_tries)
        unscored += written.unscored("regenerate")
        done = [one for one in requests if one.record in written.notes]  # of the others, the last attempt is kept
        current = [Attempt(one.record, one.attempt, written.notes[one.record], writer.label) for one in done]
    return _attempts_table(attempts), _notes_table(attempts), unscored_table(unscored)


def pass_through(first_notes: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Keep first notes unchecked: (ATTEMPTS, NOTES, UNSCORED). For published notes, which were filtered before.

    NOTES marks them as consistent, because questions are asked over consistent notes only (stage note_qa; every other
    stage takes all notes). ATTEMPTS has no verdicts.
    """
    attempts = _first_attempts(first_notes)
    return _attempts_table(attempts), _notes_table(attempts).assign(consistent=True), unscored_table([])


def _first_attempts(first_notes: pd.DataFrame) -> list[Attempt]:
    rows = first_notes.sort_values("record")[["record", "attempt", "note", "provenance"]]
    return [Attempt(int(record), int(attempt), *rest) for record, attempt, *rest in rows.itertuples(index=False)]


def consistency_call(key: str, instructions: str, note: str, *, sample: int = 0, check: PromptName = CHECK) -> Call:
    """The request that checks ``note`` against ``instructions``; its reply is a `ConsistencyReply`."""
    messages = render(*check, instructions=instructions, note=note)
    return Call(key, messages, reply=ConsistencyReply, sample=sample)


def _attempts_table(attempts: Sequence[Attempt]) -> pd.DataFrame:
    return typed([asdict(attempt) for attempt in attempts], ATTEMPTS).sort_values(
        ["record", "attempt"], ignore_index=True
    )


def _notes_table(attempts: Sequence[Attempt]) -> pd.DataFrame:
    last = {a.record: a for a in sorted(attempts, key=lambda a: (a.record, a.attempt))}
    return typed([asdict(a) | {"consistent": a.consistent is True} for a in last.values()], NOTES)


def filtering_metrics(attempts: pd.DataFrame, kinds: Mapping[int, str], *, seed: int, annotator: str) -> pd.DataFrame:
    """METRICS rows from ATTEMPTS; ``kinds`` maps a record to its kind of prompt. The item is the kind, or "all".

    Shares (0-1): ``flagged_first`` (flagged first notes, of those with a verdict; first notes without one are its
    unscored), and of all records ``kept_flagged`` (the last attempt is flagged), ``kept_first`` and
    ``kept_regenerated`` (it passed, or has no verdict). ``attempts``: mean per record. ``words_per_note`` of notes that
    were never flagged (condition ``first``), of flagged first notes (``flagged``), of their replacements
    (``regenerated``), and the paired difference of the last two.
    """
    frame = attempts.assign(kind=attempts["record"].map(kinds), words=attempts["note"].str.count(r"\S+"))
    rows: list[Row] = []
    for item, part in [("all", frame), *frame.groupby("kind", sort=True)]:
        rows += _shares(part, str(item), seed)
        rows += _lengths(part, str(item), seed)
    return metric_table(rows, stage="filter", system=annotator, seed=seed, provenance=annotator)


def spans_rows(
    attempts: pd.DataFrame, spans: pd.DataFrame, lost: Collection[int], *, seed: int, provenance: str
) -> pd.DataFrame:
    """Spans per normal note of kept first notes and of regenerated notes, and the difference of the means.

    Notes that were replaced are not compared, because spans are extracted from kept notes only; nor are notes that were
    kept although flagged. ``lost``: records of notes whose spans are not all known, which are unscored.
    """
    last = _last(attempts)
    last = last[~_flagged(last)]
    counted = spans[spans["version"] == "normal"].groupby("record").size()
    counts = counted.reindex(last["record"], fill_value=0).to_numpy(dtype=float)
    new, known = last["attempt"].to_numpy() > 0, ~last["record"].isin(lost).to_numpy()
    difference = _difference_row(
        "kept_regenerated - kept_first", "spans_per_note", counts[new & known], counts[~new & known], seed
    )
    rows = [difference | {"unscored": int((~known).sum())}]
    for name, of in (("kept_regenerated", new), ("kept_first", ~new)):
        about: Row = {"condition": name, "unscored": int((of & ~known).sum()), "seed": seed}
        rows.insert(0, mean_row("spans_per_note", counts[of & known], bounds=None, **about))
    return metric_table(rows, stage="span", system="filter", item="all", seed=seed, provenance=provenance)


def _shares(part: pd.DataFrame, item: str, seed: int) -> list[Row]:
    last = _last(part)
    first = part.loc[part["attempt"] == 0, "consistent"]
    judged = first.dropna()
    still = _flagged(last)
    new = (last["attempt"] > 0).to_numpy(dtype=bool)
    shares = {
        "kept_first": ~new & ~still,
        "kept_regenerated": new & ~still,
        "kept_flagged": still,
    }
    keys: Row = {"condition": "check", "item": item}
    unscored = len(first) - len(judged)
    flagged = mean_row("flagged_first", ~judged.astype(bool), seed=seed, unscored=unscored, **keys)
    attempts = mean_row("attempts", last["attempt"] + 1, bounds=(1, np.inf), seed=seed, **keys)
    return [flagged, *(mean_row(name, values, seed=seed, **keys) for name, values in shares.items()), attempts]


def _last(attempts: pd.DataFrame) -> pd.DataFrame:
    return attempts.sort_values(["record", "attempt"]).drop_duplicates("record", keep="last")


def _flagged(attempts: pd.DataFrame) -> npt.NDArray[np.bool_]:
    return (attempts["consistent"] == False).fillna(False).to_numpy(dtype=bool)  # noqa: E712 - null is not flagged


def _lengths(part: pd.DataFrame, item: str, seed: int) -> list[Row]:
    """Length in words of notes never flagged, of flagged first notes, and of their replacements."""
    first, last = part[part["attempt"] == 0].sort_values("record"), _last(part)
    before, after = (one["words"].reset_index(drop=True) for one in (first, last))
    flagged, new = _flagged(first), last["attempt"].to_numpy() > 0
    lengths = {"first": before[~flagged], "flagged": before[flagged], "regenerated": after[new]}
    lengths["regenerated - flagged"] = after[new] - before[new]
    keys: Row = {"seed": seed, "item": item}
    return [mean_row("words_per_note", words, bounds=None, condition=name, **keys) for name, words in lengths.items()]


def _difference_row(condition: str, metric: str, one: Floats, other: Floats, seed: int) -> Row:
    """Difference of two groups' means with Welch's interval; none for a group of one note."""
    n = len(one) + len(other)
    if not len(one) or not len(other):
        return metric_row(metric, NAN, n=n, condition=condition)
    low, high = NAN, NAN
    if min(len(one), len(other)) > 1:
        low, high = ttest_ind(one, other, equal_var=False).confidence_interval()
    return metric_row(metric, float(one.mean() - other.mean()), low, high, n=n, condition=condition, seed=seed)
