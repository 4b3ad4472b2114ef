"""Made-up runs, to see reports without any load: `python -m tools.samples DIRECTORY` writes them."""
