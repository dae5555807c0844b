"""`audit serve`: the same questions over HTTP, and the page that asks them."""
