"""lockbench: measure distributed locks on real servers, and say which of them can be trusted."""

__version__ = "0.1.0"
