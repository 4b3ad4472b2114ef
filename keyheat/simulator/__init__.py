"""The model under a virtual clock: a load is sent second by second, as counts instead of requests."""
