"""Campaigns: which runs, in which order, on servers brought up for them, each kept whatever happens to the next."""
