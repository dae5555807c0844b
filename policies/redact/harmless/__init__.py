"""What is no secret, though it stands where one would."""
