"""What is known of a judge: planted errors, rates, human labels, agreement of spans."""
