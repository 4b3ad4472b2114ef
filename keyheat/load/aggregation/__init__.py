"""Totals of orders per product and day: kept in three ways, and checked against the orders."""
