"""The models named in a command's options: a model for each role, one judge, or several with a lister and families."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from schemas.errors import ParamsError, did_you_mean
from schemas.params import Params
from schemas.params.llm import SIMULATOR, Role, RoleName

JUDGE_ROLES: tuple[RoleName, ...] = ("judge", "annotator")
"""A judge's model plays both; the annotator's requests are those of the consistency check."""


def choose_role(given: str, role: RoleName, params: Params) -> Role:
    """The endpoint that ``given`` names: ``simulator`` (rules), a role of params.yaml, or ``MODEL@URL``.

    Raises ParamsError for anything else.
    """
    if given == SIMULATOR:
        return Role(base_url=SIMULATOR, model=f"vignette-{role}", temperature=0.0)
    if given in params.roles:
        return params.roles[given]
    model, at, url = given.rpartition("@")
    if at and model and url.startswith(("http://", "https://")):
        return Role(base_url=url, model=model, temperature=0.0)
    raise ParamsError(
        f"{role} {given!r}: expected {SIMULATOR}, a role of the params ({', '.join(params.roles)}) or MODEL@URL, "
        f"for example gpt-4o@https://api.openai.com/v1{did_you_mean(given, [SIMULATOR, *params.roles])}"
    )


def chosen_models(judge: str, writer: str, answerer: str | None) -> dict[RoleName, str]:
    """The model of each role. The judge's model also writes questions, and answers them unless ``answerer`` is given.

    Where the judge is a role of params.yaml, the roles annotator and answerer do so.
    """
    shared = judge == SIMULATOR or "@" in judge
    asker = judge if shared else "annotator"
    return {
        "judge": judge,
        "writer": writer,
        "annotator": asker,
        "answerer": answerer or (judge if shared else "answerer"),
    }


def with_roles(params: Params, chosen: Mapping[RoleName, str]) -> Params:
    """``params`` with the roles that ``chosen`` names."""
    roles = {role: choose_role(given, role, params) for role, given in chosen.items()}
    return params.model_copy(update={"roles": {**params.roles, **roles}})


def with_judge(params: Params, judge: str) -> Params:
    """``params`` with the judge that is named as in `vignette evaluate`, who also checks notes against records."""
    models = chosen_models(judge, judge, None)
    return with_roles(params, {role: models[role] for role in JUDGE_ROLES})


@dataclass(frozen=True)
class Panel:
    """Judges by name, in order, the lister's name and endpoint, and families of judges and systems by name."""

    judges: Mapping[str, Role]
    lister: str
    listing: Role
    families: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """The judge whose figures the other tables of an evaluation have."""
        return next(iter(self.judges))

    @property
    def everyone(self) -> list[str]:
        """The judges in order, and the lister where it does not judge."""
        return list(dict.fromkeys([*self.judges, self.lister]))

    def params_of(self, params: Params, judge: str) -> Params:
        """``params`` with a judge, or the lister, in the role of the judge."""
        role = self.judges.get(judge, self.listing)
        return params.model_copy(update={"roles": {**params.roles, "judge": role}})


def named_judge(entry: str) -> tuple[str, str]:
    """Name and endpoint of ``NAME=JUDGE``, or of a judge without a name: that of its model or role."""
    name, equals, given = entry.partition("=")
    if equals and "@" not in name and "/" not in name:
        if not (name.strip() and given):
            raise ParamsError(f"--judge {entry}: expected JUDGE or NAME=JUDGE")
        return name, given
    return entry.rpartition("@")[0] or entry, entry


def make_panel(
    params: Params, judges: Sequence[str], lister: str | None = None, families: Mapping[str, str] | None = None
) -> Panel:
    """The panel of the judges given with ``--judge``. Raises ParamsError with one line for names that collide.

    ``lister``: the name of a judge or a further one, by default the first judge.
    """
    roles: dict[str, Role] = {}
    given: dict[str, str] = {}
    for entry in judges:
        name, said = named_judge(entry)
        role = choose_role(said, "judge", params)
        if name in roles:
            raise ParamsError(
                f"--judge {entry}: the name {name} is taken by --judge {given[name]}; give one of them a name of its "
                f"own, --judge NAME={said}"
            )
        same = [other for other, one in roles.items() if (one.base_url, one.model) == (role.base_url, role.model)]
        if same:
            raise ParamsError(f"--judge {entry}: the same model as {given[same[0]]}; name each judge once")
        roles[name], given[name] = role, entry
    listing, of_lister = _lister(params, roles, given, lister)
    if families and len(roles) < 2:
        raise ParamsError("--family compares judges; name two or more with --judge")
    return Panel(roles, listing, of_lister, dict(families or {}))


def _lister(
    params: Params, roles: Mapping[str, Role], given: Mapping[str, str], lister: str | None
) -> tuple[str, Role]:
    if lister is None:
        return next(iter(roles.items()))
    for name, entry in given.items():
        if lister in (name, entry):
            return name, roles[name]
    name, said = named_judge(lister)
    role = choose_role(said, "judge", params)
    if name in roles:
        raise ParamsError(f"--lister {lister}: the name {name} is taken by --judge {given[name]}; name it otherwise")
    return name, role


def with_judges(
    params: Params,
    judges: Sequence[str],
    lister: str | None,
    families: Mapping[str, str] | None,
    writer: str,
    answerer: str | None,
) -> tuple[Params, Panel | None]:
    """The params of an evaluation, and its panel; None for one judge who lists for itself."""
    if not judges:
        raise ParamsError("--judge: expected at least one")
    first = named_judge(judges[0])[1]
    known = with_roles(params, chosen_models(first, writer, answerer))
    if len(judges) == 1 and lister is None and not families:
        return known, None
    return known, make_panel(params, judges, lister, families)
