"""The lock that is an item of a table, taken by a conditional write; through the DynamoDB API, whoever serves it."""
