"""Getting the programs of servers onto this machine, where they are not."""
