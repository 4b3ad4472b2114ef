"""CloudWatch as a DynamoDB user meets it: the metrics of the tables, and metrics of one's own."""
