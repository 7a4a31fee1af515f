"""Which epoch of which identity a role is in: keeps what was seen before, so that a model that comes back is known."""

import sqlite3

from schemas.params.llm import RoleName
from tasks.llm.canaries import similarity
from tasks.llm.fingerprint import Fingerprint, parse_fingerprint
from tasks.llm.store import ResponseStore


def settle(
    store: ResponseStore,
    recorded: Fingerprint | None,
    role: RoleName,
    identity: dict[str, str],
    replies: dict[str, list[str]],
    threshold: float,
) -> tuple[Fingerprint, float]:
    """The fingerprint that now holds, and how alike the canary replies are to those of its epoch.

    Replies are compared with those at an epoch's beginning, not with the last probe's, so that a slow drift adds up and
    is seen. The recorded epoch comes first; then any other epoch of the same identity that the replies are like, since
    a model may be rolled back; then a new one.
    """
    blank = Fingerprint(role, identity, 0, replies)
    known = _known(store, blank)
    if recorded is not None and recorded.identity == identity:
        known = [recorded, *(epoch for epoch in known if epoch.epoch != recorded.epoch)]
    for epoch in known:
        alike = similarity(replies, epoch.canaries)
        if alike >= threshold:
            _remember(store, epoch)
            return epoch, alike
    if not known:
        _remember(store, blank)
        return blank, 1.0
    found = Fingerprint(role, identity, max(epoch.epoch for epoch in known) + 1, replies)
    _remember(store, found)
    return found, similarity(replies, known[0].canaries)


def _known(store: ResponseStore, like: Fingerprint) -> list[Fingerprint]:
    """Epochs of the same identity that were seen before, the latest first."""

    def read(connection: sqlite3.Connection) -> list[str]:
        sql = "SELECT content FROM fingerprints WHERE role = ? AND identity = ? ORDER BY epoch DESC"
        return [row[0] for row in connection.execute(sql, (like.role, like.identity_hash))]

    return [parse_fingerprint(text, like.role) for text in store.do_now(read)]


def _remember(store: ResponseStore, fingerprint: Fingerprint) -> None:
    row = (fingerprint.role, fingerprint.identity_hash, fingerprint.epoch, fingerprint.to_json())
    store.do_now(lambda c: c.execute("INSERT OR IGNORE INTO fingerprints VALUES (?, ?, ?, ?)", row).rowcount)
