"""What a load test sends: as its scenario states it, or as a dry run shows."""
