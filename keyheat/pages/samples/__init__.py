"""Made-up runs, to see reports without any load: `python -m keyheat.pages.samples DIRECTORY` writes them."""
