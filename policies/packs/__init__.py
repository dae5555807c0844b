"""Packs of redaction rules that ship with the program: YAML, switched on by name."""
