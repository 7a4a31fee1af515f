"""The annotator's rules: consistency check, symptom spans, mapping of spans to compact notes, correction of phrases.

Built on `clinical`; never imports `writer`.
"""
