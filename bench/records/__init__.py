"""What a campaign leaves behind: run folders, their schema, histograms, and the environment they were measured in."""
