"""What a query reads, sent elsewhere with a manifest."""
