"""What a reviewer approves instead of the whole change as proposed: some of it, or words of their own.

Which changes can be ticked, the texts to reword from, and how an approval differs from what its agent asked for.
"""
