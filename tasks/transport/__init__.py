"""How calls reach a model, and how replies are kept and paid for. Decides no byte of a result.

`roles` opens the client of a role, which consists of:

- `client`: answers calls from the store, from an equal request under way, or by the transport
- `direct` (within `limits`): sends through `endpoint`; `missing`: notes what it would send, and imports the replies
- `store`: replies in `database`; `budget`: what they cost and may cost; `inspection`: to check and copy them
- `fingerprint`: a model's identity (of rules: `simulator_code`); `probing` asks for it, `epochs` notices silent changes
- `rejections`: which setting an endpoint refuses

Of use to all: `processes`, `instructions` (sets), `untrusted` and `json_lines` (files of others), `shown` (no secrets).
"""
