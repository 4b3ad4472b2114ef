"""How a run is shown: one HTML file per run, and one page over several runs."""
