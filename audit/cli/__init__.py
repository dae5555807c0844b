"""Commands: read flags, call one function, print the answer."""
