"""What is done around a load so that its evidence fits: clocks, whole minutes, and the table's shards."""
