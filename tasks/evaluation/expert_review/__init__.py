"""The physicians' rating protocol of SimSUM (Section 3.1, Appendix E): drawing, forms, returned files, scores."""
