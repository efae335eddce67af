"""The conformance suite: one set of checks over every adapter, installed with the bench (`lockbench conform`)."""
