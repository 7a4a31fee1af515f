"""The annotator's rules: consistency, symptom spans, their mapping to compact notes, correction of phrases.

Rests on `clinical`; never imports `writer`.
"""
