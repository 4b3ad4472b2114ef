"""What is sent to a simulated table: every load test as its requests, keys and units, second by second."""

from keyheat.simulator.traffic.loadtests import traffic_of

__all__ = ["traffic_of"]
