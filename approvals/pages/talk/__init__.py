"""What pages and agents are shown of the talk about proposals: threads, who looks, what is put off. Reads only."""
