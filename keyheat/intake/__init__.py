"""A scenario from what people have: a table's description, a template, a plan of Terraform, a data model."""
