"""No lock at all: what the instrument itself costs."""
