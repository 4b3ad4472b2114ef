"""CloudWatch as a DynamoDB user meets it: the metrics of the tables, and Contributor Insights' reports."""
