"""Lines that stand elsewhere in the other text: which these are, and how the rest is compared and counted."""
