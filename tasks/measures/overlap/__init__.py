"""ROUGE, BLEU and BERTScore, and their agreement with the judged metrics."""
