"""What to do about a label, what would come of it, and whether it did."""
