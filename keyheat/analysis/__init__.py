"""What a run means: evidence in, labels and recommendations out."""
