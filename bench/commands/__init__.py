"""The subcommands of `lockbench`, by what they act on."""
