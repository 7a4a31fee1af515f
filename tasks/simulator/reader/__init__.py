"""Reads notes, claims and questions by rule: the models annotator, judge and answerer.

One lexicon finds the mentions (`lexicon`, `findings`), with negation as in ConText (`negation`). On it stand spans,
the checks of a note, entailment and the answers. A tenth of the wordings is unknown to it on purpose, so that it errs
like a model. Never imports the writer or its truth.
"""
