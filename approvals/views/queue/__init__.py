"""The review queue beyond its list: several decided at once, one change for many people, undoing, saved filters."""
