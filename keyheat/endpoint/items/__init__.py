"""The operations on items: what each reads and writes, admits, bills and answers."""
