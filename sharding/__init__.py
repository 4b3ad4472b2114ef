"""Write sharding for an application: a key gets more shards where one partition is not enough for it."""
