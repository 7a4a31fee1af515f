"""DocLens (Xie et al. 2024): completeness, conciseness and attribution of a text, judged claim by claim."""
