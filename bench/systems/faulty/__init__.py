"""A lock with planted faults: what the conformance suite, the referee and the recorder must be able to see."""
