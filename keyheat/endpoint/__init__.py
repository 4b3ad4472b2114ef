"""The table model under the wall clock, behind DynamoDB's and CloudWatch's HTTP APIs."""
