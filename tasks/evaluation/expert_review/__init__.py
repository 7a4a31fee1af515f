"""SimSUM's expert review (Section 3.1, Appendix E): draw of notes, rating forms, returned files, scores."""
