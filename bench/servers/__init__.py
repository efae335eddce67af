"""What every system's servers share: the contract and addresses; installing, running and breaking have rooms."""
