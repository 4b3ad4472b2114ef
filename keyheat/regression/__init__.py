"""Regression tests of a load: suites, their history, and which changes count."""
