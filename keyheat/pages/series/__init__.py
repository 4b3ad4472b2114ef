"""Pages over several runs: side by side, or as a sweep."""
