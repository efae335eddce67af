"""What every system's servers share: where they come from, their processes, ports, proofs and proxy."""
