"""What a reviewer is shown of a proposal and what it would do: its target as it is now, its checks, its differences.

Reads only. Called by pages, tools and services; decisions are taken in `approvals.services`.
"""
