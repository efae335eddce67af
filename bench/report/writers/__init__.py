"""The formats of a report, one file each: they know documents, and nothing of what a document is about."""
