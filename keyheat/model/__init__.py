"""How DynamoDB admits requests: partitions, buckets and limits. Pure: no network, no clock, no files."""
