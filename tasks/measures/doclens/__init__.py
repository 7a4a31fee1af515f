"""DocLens (Xie et al. 2024): completeness, conciseness and attribution of texts, judged claim by claim."""
