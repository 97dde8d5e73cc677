"""Dates and times as Assent's pages write them; Django finds the folder by FORMAT_MODULE_PATH."""
