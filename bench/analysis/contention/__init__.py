"""Waiting for a lock: hand-offs, fairness, and the wait that a fair queue would have had."""
