"""ROUGE, BLEU and BERTScore of outputs with their references."""
