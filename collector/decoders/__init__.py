"""What bytes mean: one file a format."""
