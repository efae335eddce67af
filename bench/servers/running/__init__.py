"""Servers up, proven, found again and down, wherever they come from."""
