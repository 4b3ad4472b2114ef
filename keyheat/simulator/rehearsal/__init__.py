"""What a load test sends, learnt by rehearsing it: its tasks are done where nothing can be sent."""
