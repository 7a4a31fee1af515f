"""The writer: a probabilistic grammar over clinical content. Nobody else in the embedded endpoint may import it.

Content plan (what is said, where, in which order) -> clauses -> surface text; words are data in ``data/*.yaml``.
Only `tasks.simulator.truth` reads what the writer knew when it wrote.
"""
