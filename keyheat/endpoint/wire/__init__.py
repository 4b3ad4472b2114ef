"""The endpoint's protocols: HTTP connections, DynamoDB's JSON, which API a request is for."""
