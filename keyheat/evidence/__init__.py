"""What is asked of AWS, or of a person in its place, and what of the answers can be true."""
