"""Where bytes come from: one file a kind of source."""
