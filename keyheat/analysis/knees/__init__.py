"""How much a table carries, or how many shards are enough."""
