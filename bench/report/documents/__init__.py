"""What each report says: documents built from evidence, the same for every format."""
