"""DynamoDB's expressions: parsed by moto, compiled once, evaluated on plain items."""
