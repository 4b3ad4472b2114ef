"""DynamoDB Streams: what changed in a table, shard by shard, for 24 hours."""
