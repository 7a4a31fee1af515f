"""Reads notes, claims and questions by rule: the models annotator, judge and answerer.

One lexicon finds the mentions (`lexicon`, `findings`), with negation as in ConText. On it stand spans,
the checks of a note, entailment and the answers. A tenth of the wordings and sentences escapes it on purpose, so that
it errs like a model, save where it is asked to read as a clinician. Never imports the writer or its truth.
"""
