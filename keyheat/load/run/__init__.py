"""One run from the command line to the report, in one process or in many."""
