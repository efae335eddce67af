"""Delay lines between clients and servers: a network of one's choice where the kernel has no netem."""
