"""Approving something else than the whole change as proposed: some of it, an edited text, a resolved conflict."""
