"""Load tests run without a table, in a process of their own, for a sample of what they send."""
