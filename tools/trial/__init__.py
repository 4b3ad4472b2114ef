"""Six small scenarios in an account, held against the model."""
