"""Judge-side clinical language kernel: lexicon, polarity, temperatures, abbreviations, age and sex.

Shared by annotator, judge and answerer; independent of the writer's grammar and word lists. Imports only `tasks.text`
and, for cue lists, negspacy.
"""
