"""The identity of the model behind a role's endpoint, and the file that records it.

Stages depend on the file (``fingerprints/<role>.json``), and the response store is keyed by its content. It leaves out
fields that vary between identical models (``created``), and holds only those that the role's ``identity`` names.
"""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import IdentityError
from schemas.params.llm import SIMULATOR, Role, RoleName, Structured, by_hand
from tasks.code import Code, Place
from tasks.domains.in_use import domain_cache, domain_folder
from tasks.llm.prompt_set import replaced
from tasks.simulator.dispatch import MODELS, family, modules_of
from tasks.transport.shown import public_url

if TYPE_CHECKING:
    from tasks.llm.replies import Completion  # loads pandas, which an identity does not need


_CORE = ("tasks.simulator.dispatch", "tasks.simulator.request")
"""Modules that every reply of the simulator passes through; its application transports replies unchanged."""
_BEYOND = ("schemas", "tasks.transport", "tasks.domains.in_use")
"""What finds and checks the data of the rules."""
OWNER = "vignette"
"""Owner of the models that the simulator lists when it is served on a port (`tasks.simulator.app`)."""


@dataclass(frozen=True)
class Fingerprint:
    """A role's identity, its epoch, and the canary replies with which the epoch began.

    ``aliases``: other ids under which the model may answer. ``structured``: how the endpoint takes structured requests,
    where the role leaves that open and it is not by JSON schema. ``prompts``: hashes of the prompts that a user's
    folder replaces, by name; they are in the requests that replies are kept for, and not part of the key.
    """

    role: RoleName
    identity: dict[str, str]
    epoch: int = 0
    canaries: dict[str, list[str]] = field(default_factory=dict)  # prompt -> replies
    aliases: tuple[str, ...] = ()
    structured: Structured | None = None
    prompts: dict[str, str] = field(default_factory=replaced)

    @cached_property
    def key(self) -> str:
        """Identity and epoch as the response store is keyed by them."""
        return f"{self.identity_hash}.{self.epoch}"

    @cached_property
    def identity_hash(self) -> str:
        """Short hash of the identity."""
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """The model for provenance columns, and the user's prompts if any are replaced."""
        name = self.identity.get("answered") or self.identity["asked"]
        if self.identity["endpoint"] == SIMULATOR or self.identity.get("owner") == OWNER:
            name = f"{name} (simulator's rules)"
        name = f"{name}, epoch {self.epoch}" if self.epoch else name
        name = f"{name}, by {self.structured}" if self.structured else name
        if not self.prompts:
            return name
        digest = hashlib.sha256(json.dumps(self.prompts, sort_keys=True).encode()).hexdigest()[:8]
        return f"{name}, prompts {digest}"

    @property
    def answering(self) -> tuple[str, ...]:
        """The model ids that may answer; empty where the answering id does not count."""
        answered = self.identity.get("answered")
        return () if answered is None else (answered, *self.aliases)

    def to_json(self) -> str:
        """The file's text."""
        fields: dict[str, Any] = {"role": self.role, "identity": self.identity, "epoch": self.epoch}
        fields |= {"aliases": self.aliases} if self.aliases else {}
        fields |= {"structured": self.structured} if self.structured else {}
        fields |= {"prompts": self.prompts} if self.prompts else {}
        return json.dumps(fields | {"canaries": self.canaries}, indent=2, ensure_ascii=False) + "\n"


def fingerprint_path(folder: Path, role: RoleName) -> Path:
    """The file of a role."""
    return folder / f"{role}.json"


def read_fingerprint(folder: Path, role: RoleName) -> Fingerprint | None:
    """The recorded fingerprint; None when there is none. Raises IdentityError for a file that cannot be read."""
    path = fingerprint_path(folder, role)
    if not path.exists():
        return None
    try:
        return parse_fingerprint(path.read_text(encoding="utf-8"), role)
    except (ValueError, KeyError, TypeError) as error:
        raise IdentityError(f"{path}: not a fingerprint ({error}); run: vignette probe --role {role}") from error


def parse_fingerprint(text: str, role: RoleName) -> Fingerprint:
    """Read a fingerprint file's text."""
    loaded = json.loads(text)
    return Fingerprint(
        role,
        dict(loaded["identity"]),
        int(loaded["epoch"]),
        dict(loaded["canaries"]),
        tuple(loaded.get("aliases", ())),
        loaded.get("structured"),
        dict(loaded.get("prompts", {})),
    )


def simulator_identity(role: Role) -> dict[str, str]:
    """The identity of rules: the hash of the code and data that shape their replies. Raises IdentityError."""
    return {"endpoint": "simulator", "asked": role.model, "content": _content_hash(role.model)}


@domain_cache(maxsize=16)
def _content_hash(model: str) -> str:
    return hashlib.sha256(json.dumps(simulator_content(model, _code())).encode()).hexdigest()


@cache
def _code() -> Code:
    """The code of this process, read once for all models: its hashes do not change while it runs."""
    return Code()


def simulator_content(model: str, code: Code) -> dict[str, str]:
    """Hashes of the modules, by name, and of the files, by path: the model's rules, what they import, and the domain.

    A module brings all data files of its package; of the domain count the writer's words or, for the other models, the
    lexicon that they read. Raises IdentityError for a model that is not served.
    """
    if model not in MODELS:
        served = ", ".join(MODELS)
        raise IdentityError(f"the simulator serves no model {model!r} but {served}; correct params.yaml")
    roots: list[Place] = [(module, None) for module in (*_CORE, *modules_of(family(model)))]
    beyond = {module for module in code.modules if f"{module}.".startswith(tuple(f"{one}." for one in _BEYOND))}
    modules = code.reached(roots, beyond, by_name=False)
    packages = {module.rpartition(".")[0] for module in modules}
    found = code.hashes(modules, [path for path, package in code.files.items() if package in packages])
    folder = domain_folder()
    files = [folder / f"{name}.yaml" for name in ("network", "wording", "history")]
    files += sorted((folder / ("writer" if family(model) == "writer" else "lexicon")).rglob("*"))
    return found | {
        path.relative_to(folder.parent).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file()
    }


def named_identity(role: Role) -> dict[str, str]:
    """The part of a served model's identity that the role's settings give, before anything is asked.

    ``routing``: hash of further query and headers, where there are any, as they may choose the model that answers.
    """
    named = {"endpoint": public_url(role.base_url), "asked": role.model}
    if role.query or role.headers:
        routing = json.dumps([role.query, role.headers], sort_keys=True)
        named["routing"] = hashlib.sha256(routing.encode()).hexdigest()[:16]
    return named


def served_identity(role: Role, entry: dict[str, Any], answered: str, system_fingerprint: str | None) -> dict[str, str]:
    """The identity of a served model, in the fields that the role counts.

    ``entry`` is the endpoint's answer to ``GET /models/<model>``, empty where it has none.
    """
    said = {
        "answered": answered,
        "owner": str(entry.get("owned_by") or "").encode(errors="replace").decode(),  # without lone surrogates
        "system_fingerprint": system_fingerprint or "",
    }
    return named_identity(role) | {name: value for name, value in said.items() if name in role.identity}


def is_of(recorded: Fingerprint | None, role: Role) -> bool:
    """Whether a recorded fingerprint is of the model that ``role`` names, in the fields and with the aliases it counts.

    Only what the settings say is compared. Which model answers is checked before the first request of a stage.
    """
    if recorded is None or recorded.prompts != replaced():
        return False
    if role.is_simulator:
        return recorded.identity == simulator_identity(role)
    named, ways = named_identity(role), role.structured_ways
    return (
        recorded.identity | named == recorded.identity
        and set(recorded.identity) == {*named, *role.identity}
        and recorded.aliases == tuple(role.aliases)
        and (recorded.structured is None or recorded.structured in ways[1:])
    )


def require_recorded(recorded: Fingerprint | None, role: Role, name: RoleName) -> Fingerprint:
    """The recorded fingerprint. Raises IdentityError when there is none, or it is of another model than ``role`` names.

    A served model is asked for its identity when the first request is sent; kept replies are read without it.
    """
    if recorded is None:
        raise IdentityError(f"fingerprints/{name}.json: no such file; {_probe(name)}")
    if differing := sorted(dict(recorded.prompts.items() ^ replaced().items())):
        raise IdentityError(
            f"fingerprints/{name}.json: prompt {differing[0]} was another when it was recorded; {_probe(name)}"
        )
    if role.is_simulator:
        require_same(recorded, simulator_identity(role))
    else:
        unnamed = {name: value for name, value in recorded.identity.items() if name != "routing"}
        require_same(recorded, unnamed | named_identity(role))
    return recorded


def require_same(recorded: Fingerprint, found: dict[str, str]) -> None:
    """Raises IdentityError, naming each field that differs, unless ``found`` is the recorded identity."""
    differing = differing_fields(recorded.identity, found, recorded.aliases)
    if not differing:
        return
    alias, role = found.get("answered", ""), recorded.role
    said = [f"{name} is {found.get(name)!r}, recorded is {recorded.identity.get(name)!r}" for name in differing]
    hint = f"If the change is meant, {_probe(role)}; of a model given as MODEL@URL, run the command again"
    if differing == ["answered"] and alias:
        one_model = f"add {alias!r} to roles.{role}.aliases, and probe ({by_hand(f'aliases=[{alias}]')})"
        hint = f"If both ids are one model, {one_model}. {hint}"
    raise IdentityError(f"role {role} is not answered by the model that was probed: {'; '.join(said)}. {hint}")


def require_answered(recorded: Fingerprint, completion: "Completion") -> None:
    """Raises IdentityError unless a reply comes from the recorded model."""
    said = {"answered": completion.model, "system_fingerprint": completion.system_fingerprint or ""}
    require_same(recorded, recorded.identity | {name: said[name] for name in said if name in recorded.identity})


def differing_fields(recorded: dict[str, str], found: dict[str, str], aliases: tuple[str, ...]) -> list[str]:
    """The fields in which two identities differ; ids of a model that are ``aliases`` do not.

    An owner that one side does not know does not count: a key that may not list models sees none.
    """
    names = [name for name in sorted({*recorded, *found}) if recorded.get(name) != found.get(name)]
    if "owner" in names and not (recorded.get("owner") and found.get("owner")):
        names.remove("owner")
    if "answered" in names and found.get("answered") in aliases:
        names.remove("answered")
    return names


def _probe(role: RoleName) -> str:
    return f"run: vignette probe --role {role}, then dvc repro"
