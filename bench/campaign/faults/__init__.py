"""Faults under load: which a system can have, how each is brought about on the lab's servers, and how it is undone."""
