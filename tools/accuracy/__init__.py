"""How right the labels are: random tables are simulated, evidence is hidden, and the labels are counted."""
