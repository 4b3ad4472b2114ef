"""The files of a run as values: what the load recorded, what CloudWatch said, what was made of it."""
