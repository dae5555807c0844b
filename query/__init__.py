"""Answers from archive and spool read as one."""
