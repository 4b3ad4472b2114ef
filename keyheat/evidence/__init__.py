"""Collect evidence from AWS, from files and from simulations."""
