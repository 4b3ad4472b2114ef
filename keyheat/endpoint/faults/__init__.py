"""Faults on demand: what rules may say, how they meet requests, and how they are set while it runs."""
