"""A run while it goes on: in the web page of Locust, for Prometheus, and for a collector of OpenTelemetry."""
