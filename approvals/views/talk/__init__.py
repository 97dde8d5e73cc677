"""The forms beside a proposal that decide nothing: its thread, whose it is, putting it off, who looks at it."""
