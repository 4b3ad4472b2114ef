"""Demand, throttles and cost of a scenario, computed before anything is sent."""
