"""Pages in the web page of Locust."""
