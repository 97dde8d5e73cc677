"""What a person keeps for their lists."""
