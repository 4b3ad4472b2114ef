"""The tables that are loaded: made, found, described, and never somebody else's by accident."""
