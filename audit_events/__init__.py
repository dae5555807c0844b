"""The words of the trail: the event schema, text bounds, canonical bytes and errors."""
