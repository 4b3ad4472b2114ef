"""What each claim of speed is measured with: `make bench`, or one by one, as `python -m benchmarks.endpoint`."""
