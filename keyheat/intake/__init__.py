"""Build a scenario from a table's description, a template, a Terraform plan or a data model."""
