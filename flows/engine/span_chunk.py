"""Span extraction on one chunk of notes, for the stages that extract spans."""

from collections.abc import Callable

from flows.engine.chunks import Frames
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.domains.rules import load_rules
from tasks.llm.calls import Ask
from tasks.spans.annotation import annotate_spans


async def span_chunk(frames: Frames, ask: Callable[[RoleName], Ask], params: Params) -> Frames:
    """Spans of both versions of one chunk of notes."""
    done = await annotate_spans(
        frames["records"],
        frames["notes"],
        frames["compact_notes"],
        {symptom: load_rules().labels[symptom] for symptom in load_rules().symptoms},
        load_rules().glossary,
        ask("annotator"),
        max_corrections=params.span.max_corrections,
    )
    return dict(zip(("spans", "unscored"), done, strict=True))
