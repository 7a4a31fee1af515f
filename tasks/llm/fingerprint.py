"""Who answers: the identity of the model behind a role's endpoint, and the file that records it.

The file (``fingerprints/<role>.json``) is what stages depend on and what the response store is keyed by. It leaves out
what changes by itself (``created``), and holds only the fields that the role's ``identity`` counts.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.errors import IdentityError
from schemas.params.llm import Role, RoleName
from tasks.llm.contents import content_hash
from tasks.llm.redaction import public_url


@dataclass(frozen=True)
class Fingerprint:
    """A role's identity, the epoch that drifting canary replies have brought it to, and the replies of that epoch."""

    role: RoleName
    identity: dict[str, str]
    epoch: int = 0
    canaries: dict[str, list[str]] = field(default_factory=dict)  # prompt -> replies when the epoch began

    @property
    def key(self) -> str:
        """Stands for identity and epoch in the response store."""
        return f"{self.identity_hash}.{self.epoch}"

    @property
    def identity_hash(self) -> str:
        """Short hash of the identity."""
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """What answers, for provenance columns."""
        if self.identity["endpoint"] == "embedded":
            return f"{self.identity['asked']} (embedded rules)"
        name = self.identity.get("answered") or self.identity["asked"]
        return f"{name}, epoch {self.epoch}" if self.epoch else name

    def to_json(self) -> str:
        """The file's text."""
        fields = {"role": self.role, "identity": self.identity, "epoch": self.epoch, "canaries": self.canaries}
        return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def fingerprint_path(folder: Path, role: RoleName) -> Path:
    """The file of a role."""
    return folder / f"{role}.json"


def read_fingerprint(path: Path, role: RoleName) -> Fingerprint | None:
    """The recorded fingerprint; None when there is none. Raises IdentityError for a file that cannot be read."""
    if not path.exists():
        return None
    try:
        return parse_fingerprint(path.read_text(encoding="utf-8"), role)
    except (ValueError, KeyError, TypeError) as error:
        raise IdentityError(f"{path}: not a fingerprint ({error}); run: vignette probe --role {role}") from error


def parse_fingerprint(text: str, role: RoleName) -> Fingerprint:
    """Read a fingerprint file's text."""
    loaded = json.loads(text)
    return Fingerprint(role, dict(loaded["identity"]), int(loaded["epoch"]), dict(loaded["canaries"]))


def embedded_identity(role: Role) -> dict[str, str]:
    """The identity of rules: the hash of the code and data that shape their replies. Raises IdentityError."""
    return {"endpoint": "embedded", "asked": role.model, "content": content_hash(role.model)}


def served_identity(role: Role, entry: dict[str, Any], answered: str, system_fingerprint: str | None) -> dict[str, str]:
    """The identity of a served model: what the endpoint says of it, in the fields that the role counts.

    ``entry`` is the endpoint's answer to ``GET /models/<model>``, empty where it has none.
    """
    said = {
        "endpoint": public_url(role.base_url),
        "asked": role.model,
        "answered": answered,
        "owner": str(entry.get("owned_by") or ""),
        "system_fingerprint": system_fingerprint or "",
    }
    always = ("endpoint", "asked")
    return {name: value for name, value in said.items() if name in role.identity or name in always}


def require_recorded(recorded: Fingerprint | None, found: dict[str, str] | None, role: RoleName) -> Fingerprint:
    """The recorded fingerprint. Raises IdentityError when there is none, or ``found`` is given and another."""
    if recorded is None:
        raise IdentityError(f"fingerprints/{role}.json: no such file; {_probe(role)}")
    if found is not None:
        require_same(recorded, found)
    return recorded


def require_same(recorded: Fingerprint, found: dict[str, str]) -> None:
    """Raises IdentityError, naming each field that differs, unless ``found`` is the recorded identity."""
    differing = [
        f"{name} is {found.get(name)!r}, recorded is {recorded.identity.get(name)!r}"
        for name in sorted(set(found) | set(recorded.identity))
        if found.get(name) != recorded.identity.get(name)
    ]
    if differing:
        raise IdentityError(
            f"role {recorded.role} is not answered by the model in fingerprints/{recorded.role}.json: "
            f"{'; '.join(differing)}. If the change is meant, {_probe(recorded.role)}"
        )


def _probe(role: RoleName) -> str:
    return f"run: vignette probe --role {role}, then dvc repro"
