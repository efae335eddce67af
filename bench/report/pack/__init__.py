"""A pack to hand over: what a campaign says of chosen systems, on one page and in the formats of documents."""
