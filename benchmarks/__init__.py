"""What each claim of speed is measured with: `make bench`, or `python -m benchmarks.endpoint` and so on."""
