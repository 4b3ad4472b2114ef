"""PartiQL: statements in DynamoDB's subset of SQL, done as the reads and writes that they stand for."""
