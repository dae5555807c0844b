"""From a source's bytes to stored events, exactly once."""
