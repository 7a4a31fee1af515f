"""The writer's rules for texts with citations: compact notes, notes of dialogues, short questions, summaries.

Extractive: each sentence is a shortened, numbered sentence of the input. Shares nothing with the judge.
"""
