"""The judge's rules: subclaims, entailment, citations, facts, differential, omissions, importance, clusters.

Reads prompts as any judge model would, text in, text out. Never imports the writer: it must not share its grammar.
"""
