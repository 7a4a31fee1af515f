"""Manual evaluation of extracted spans (SimSUM, Section 2.3): form, returned files, precision and recall."""
