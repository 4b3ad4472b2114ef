"""Made-up runs, to see reports without any load: `python -m reports.samples DIRECTORY` writes them."""
