"""What a running process needs: deadlines, leases, background threads, workers, upkeep and health.

May be called from everywhere; knows no proposal and no text.
"""
