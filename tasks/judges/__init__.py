"""What is known of a judge: planted errors, rates, human labels, annotator and simulator quality."""
