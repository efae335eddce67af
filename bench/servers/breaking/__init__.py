"""What is done to servers that run: stopped, killed, cut off."""
