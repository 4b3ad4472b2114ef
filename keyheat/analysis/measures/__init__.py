"""What of a run can be compared with another, and how each measure is taken."""
