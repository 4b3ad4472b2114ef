"""What is sent: each public file is one question put to a table, run by Locust."""
