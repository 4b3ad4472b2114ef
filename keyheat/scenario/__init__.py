"""A scenario: one question put to one table, from TOML to a frozen value."""
