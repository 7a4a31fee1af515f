"""The judge's rules: subclaims, entailment, citations, facts, differential, omissions, importance, clusters.

Reads prompts as any judge model would, text in, text out; never imports the writer, so that it cannot share its grammar.
"""
