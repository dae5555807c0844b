"""Mask secrets before anything is written: the only door from a batch to the spool."""
