"""What a terminal shows: bars, and a diagnosis in a few lines."""
