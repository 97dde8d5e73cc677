"""The pages of notes: the list, one note, and every change a person makes to one."""
