"""What a lock protects: one interface, many kinds, each keeping the highest token and judging every write."""
