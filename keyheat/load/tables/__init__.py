"""Create, find and describe the tables of a run, and never load another one by accident."""
