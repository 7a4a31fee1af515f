"""How calls reach a model, and how replies are kept and paid for. Decides no byte of a result.

`roles` opens the client of a role, which consists of:

- `client`: answers calls from the store, from an equal request under way, or by a transport
- `direct` (within `limits`) and `batch` (files: `batch_files`): the transports, which send through `endpoint`
- `store`: replies in `database`; `budget`: what they cost and may cost; `inspection`: to check and copy them
- `fingerprint`: a model's identity (of rules: `simulator_code`); `probing` asks for it, `epochs` notices silent changes
- `rejections`: which setting an endpoint refuses

Of use to all: `processes`, `instructions` (sets), `untrusted` and `json_lines` (files of others), `shown` (no secrets).
"""
