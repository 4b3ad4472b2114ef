"""Items in memory: bytes per key, in the order of their keys, with index entries beside them."""
