"""Attacks that take too long for a test: one module for each thing attacked."""
