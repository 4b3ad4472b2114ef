"""A field trial: six small scenarios in an account, and whether DynamoDB did there what the model says."""
