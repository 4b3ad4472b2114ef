"""DynamoDB's expressions: parsed and compiled once, evaluated on plain items."""
