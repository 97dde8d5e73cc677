"""What a reviewer should look at twice: credentials, instructions to a model, and changes larger than they look.

Pure: text in, flags out. Called when a proposal is made and when its target changes.
"""
