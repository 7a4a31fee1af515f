"""The writer's rules for texts that cite their input: compact notes, notes of dialogues, short questions, summaries.

Extractive: each sentence is a sentence of the input, shortened, with its number. Shares nothing with the judge.
"""
