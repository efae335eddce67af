"""Faults and scenarios on real processes and servers, the referee, and the history checker."""
