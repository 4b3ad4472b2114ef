"""Processes of their own that a load test needs beside its users, such as the consumer of a stream."""
