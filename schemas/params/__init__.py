"""Every setting of params.yaml: one section per stage, plus domain, roles, prices, sources and runtime."""

from pydantic import Field, model_validator

from schemas.params.base import Section
from schemas.params.history import HistoryQa, Summarise, VisitNotes
from schemas.params.judges import Calibrate, PlantedErrors, Review, SpanReview
from schemas.params.learning import Baselines, BaselinesPublished, Embed, TextConfounding
from schemas.params.llm import Budget, Price, Prompts, Role, RoleName
from schemas.params.measures import DocLens, MedOmit, NoteQa, NoteQaOutside, Overlap, Summaries
from schemas.params.records import Export, Filter, Network, NetworkPublished, Prompting, Sample, Span, Visits, Write
from schemas.params.runtime import Record, Report, Runtime, Sources, Watch


class Params(Section):
    """params.yaml as a whole."""

    domain: str
    """A folder of tasks/domains."""
    seed: int = Field(ge=0, le=2**32 - 1)
    """The range of numpy's and scikit-learn's seeds."""
    prompts: Prompts = Field(default_factory=Prompts)
    roles: dict[RoleName, Role]
    prices: dict[str, Price] = Field(default_factory=dict)
    """By model id as in roles."""
    budget: Budget = Field(default_factory=Budget)
    sources: Sources
    runtime: Runtime
    watch: Watch
    sample: Sample
    visits: Visits
    network: Network
    network_published: NetworkPublished
    embed: Embed
    baselines: Baselines
    baselines_published: BaselinesPublished
    text_confounding: TextConfounding
    doclens: DocLens
    summaries: Summaries
    visit_notes: VisitNotes
    summarise: Summarise
    history_qa: HistoryQa
    med_omit: MedOmit
    overlap: Overlap
    calibrate: Calibrate
    planted_errors: PlantedErrors
    note_qa: NoteQa
    note_qa_outside: NoteQaOutside
    review: Review
    prompting: Prompting = Field(default_factory=Prompting)
    write: Write
    filter: Filter
    span: Span
    span_review: SpanReview
    export: Export
    report: Report
    record: Record

    @model_validator(mode="after")
    def _prompts_have_rules(self) -> "Params":
        roles: tuple[RoleName, ...] = ("annotator", "judge")
        if self.note_qa.protocol == "paper" and (named := [name for name in roles if self.roles[name].is_simulator]):
            raise ValueError(
                f"note_qa.protocol is paper, and the simulator, which knows its own prompts only, serves {named}; name "
                "a model for these roles, or set protocol: vignette"
            )
        if self.note_qa.protocol == "paper" and self.roles["judge"].temperature is None:
            raise ValueError(
                "note_qa.protocol is paper, whose judge has temperature 0, and roles.judge.temperature is null, so "
                "that no temperature would be sent; set it to 0, or set protocol: vignette"
            )
        return self

    @property
    def by_rules(self) -> list[RoleName]:
        """The roles that the simulator plays."""
        return [name for name, role in self.roles.items() if role.is_simulator]

    def answered_by(self, name: str) -> "Params":
        """These params with ``note_qa_outside.answerers[name]`` as the role of the answerer."""
        return self.model_copy(update={"roles": {**self.roles, "answerer": self.note_qa_outside.answerers[name]}})
