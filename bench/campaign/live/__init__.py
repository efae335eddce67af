"""`lockbench live`: Locust's page on the bench's servers, with what its locks do, second by second."""
