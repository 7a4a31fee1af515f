"""How calls reach a model, and how replies are kept and paid for. Decides no byte of a result.

- `role`: the `Ask` of a role; answers calls from the store, from an equal request under way, or by the client
- `client`: sends requests through `endpoint`, within `limits`, and books each attempt at its `prices`
- `store`: replies and `ledger` in `database`; `inspection` checks and copies them, `missing` has them sent as a batch
- `fingerprint`: a model's identity; `probing` asks for it, `epochs` notices silent changes

Of use to all: `processes`, `instructions` (sets), `untrusted` (files of others), `shown` (no secrets).
"""
