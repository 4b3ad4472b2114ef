"""Made-up runs: what a report looks like, without any load. `python -m reports.samples DIRECTORY` writes them."""
