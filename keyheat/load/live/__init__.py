"""A run while it goes on: in the web page of Locust, and for Prometheus."""
