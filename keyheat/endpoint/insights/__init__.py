"""CloudWatch Contributor Insights for DynamoDB: which keys are accessed and throttled most."""
