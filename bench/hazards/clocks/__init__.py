"""Wall clocks that step: of a running server, and of a client. Monotonic clocks are never moved, nor the machine's."""
