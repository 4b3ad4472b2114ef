"""What a report is made from: a run read back, its rates over time, and the numbers behind its verdict."""
