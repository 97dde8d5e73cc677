"""The pages of a memory: its blocks, their history and forms, search, import and export."""
