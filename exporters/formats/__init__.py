"""Pure encoders: rows in, bytes out."""
