"""What a scenario is going to ask for, worked out before anything is sent: units, throttles, dollars."""
