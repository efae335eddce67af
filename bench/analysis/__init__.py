"""What the records say: rows, cells, intervals, and what becomes of each claim. Reads `bench.records` only."""
