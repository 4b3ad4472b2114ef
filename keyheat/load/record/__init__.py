"""What was seen: counts, throttles, latencies, hot keys, the generator itself, and the files of a run."""
