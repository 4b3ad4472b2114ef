"""What keeps a run from costing too much or doing harm: budget, stop rules, consent, kill switch."""
