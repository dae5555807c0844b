"""Pure decisions about events: globs, rules and redaction; opens no file it was not handed."""
