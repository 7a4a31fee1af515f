"""The judge's rules: subclaims, entailment, citations, facts, differential, omissions, importance, clusters.

Reads prompts as any judge model would. Never imports the writer, whose grammar it must not share.
"""
