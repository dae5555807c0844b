"""The commands, one file each; see audit/commands.py."""
