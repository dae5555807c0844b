"""The formats, one pure encoder a file: rows in, bytes out, no file, no clock, no network."""
