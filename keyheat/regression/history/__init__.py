"""What is kept of every regress: sessions, their runs and numbers, and the ones that are pinned by name."""
