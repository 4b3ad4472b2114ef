"""Is the answer still the same this week as last week? Suites, their history, and what counts as a change."""
