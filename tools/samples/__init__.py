"""Made-up runs, to see reports without any load."""
