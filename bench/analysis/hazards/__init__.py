"""What a hazard campaign says: verdicts, windows, recovery times, tolerances and claims, from its records alone."""
