"""What whoever works on Keyheat runs, and the wheel does not have: accuracy, trial, gallery, made-up runs."""
