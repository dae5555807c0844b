"""The front door: settings, wiring and commands."""
