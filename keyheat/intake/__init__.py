"""Build a scenario from a table's description, a template or a Terraform plan."""
