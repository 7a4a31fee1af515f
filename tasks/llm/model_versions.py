"""Decides the epoch of a role's model: keeps those seen before, so that a model that comes back is recognised."""

from dataclasses import replace

from tasks.llm.canaries import change_p_value
from tasks.llm.database import Connection
from tasks.llm.fingerprint import Fingerprint, parse_fingerprint, same_identity
from tasks.llm.store import ResponseStore


def settle(
    store: ResponseStore, recorded: Fingerprint | None, found: Fingerprint, level: float
) -> tuple[Fingerprint, float]:
    """The fingerprint that holds now, and the p-value of its canary replies against those of its epoch.

    ``found`` is the result of a probe, at epoch 0. A p-value below ``level`` means another model. Replies are compared
    with those at an epoch's beginning, not with the last probe's, so that a slow drift adds up and is noticed. The
    recorded epoch is tried first; then any other epoch of the same identity, since a model may be rolled back; then a
    new one.
    """
    if recorded is not None:
        store.do_now(lambda c: c.execute("DELETE FROM imported WHERE identity = ?", (recorded.key,)).rowcount)
    if recorded is not None and same_identity(recorded, found.identity, found.aliases):
        found = replace(found, identity=recorded.identity)
    known = _known(store, found)
    if recorded is not None and recorded.identity == found.identity:
        known = [recorded, *(epoch for epoch in known if epoch.epoch != recorded.epoch)]
    p_values = [change_p_value(found.canaries, epoch.canaries) for epoch in known]
    for epoch, p_value in zip(known, p_values, strict=True):
        if p_value >= level:
            current = replace(epoch, aliases=found.aliases, structured=found.structured)
            _remember(store, current)
            return current, p_value
    if known:
        found = replace(found, epoch=max(epoch.epoch for epoch in known) + 1)
    _remember(store, found)
    return found, p_values[0] if p_values else 1.0


def _known(store: ResponseStore, like: Fingerprint) -> list[Fingerprint]:
    """Epochs of the same identity that were seen before, the latest first."""

    def read(connection: Connection) -> list[str]:
        sql = "SELECT content FROM fingerprints WHERE role = ? AND identity = ? ORDER BY epoch DESC"
        return [row[0] for row in connection.execute(sql, (like.role, like.identity_hash)).fetchall()]

    return [parse_fingerprint(text, like.role) for text in store.do_now(read)]


def _remember(store: ResponseStore, fingerprint: Fingerprint) -> None:
    row = (fingerprint.role, fingerprint.identity_hash, fingerprint.epoch, fingerprint.to_json())
    sql = "INSERT INTO fingerprints VALUES (?, ?, ?, ?) ON CONFLICT (role, identity, epoch) DO NOTHING"
    store.do_now(lambda connection: connection.execute(sql, row).rowcount)
