"""The models named in a command's options, as roles of its params."""

from collections.abc import Mapping

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
