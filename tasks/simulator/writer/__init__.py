"""The writer: a probabilistic grammar of clinical notes.

Content plan (what is stated, where, in which order) -> clauses -> text; words are data in ``data/*.yaml``. Only
`tasks.simulator.truth` reads what the writer knew; no other part of the simulator may import this package.
"""
