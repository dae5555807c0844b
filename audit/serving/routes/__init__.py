"""A module here is a resource of the API: it exports `router`, and the application finds it."""
