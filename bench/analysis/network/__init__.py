"""Runs over a network of one's choice: whether it was as asked, and what its round trips say of the systems."""
