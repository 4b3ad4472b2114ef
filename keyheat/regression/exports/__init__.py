"""The outcome of a regress for other programs: CI servers, pull requests, metrics, scripts."""
