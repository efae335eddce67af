"""What is done to processes, networks, clocks and servers: each fault in force, confirmed, and over again."""
