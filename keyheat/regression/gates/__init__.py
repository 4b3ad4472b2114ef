"""What counts as a change: a gate held against the runs of a case, before and after."""
