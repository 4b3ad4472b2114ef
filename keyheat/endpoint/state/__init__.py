"""What an endpoint begins with, keeps and is given back: tables, items, and the time."""
