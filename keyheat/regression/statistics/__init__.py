"""What can be told from a few noisy numbers: intervals, the smallest change that shows, points of change."""
