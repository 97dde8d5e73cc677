"""Rules that earn trust: making and changing them, and applying what one lets through.

Which rule holds for a change is `approvals.review.trust`. Called through `approvals.services`; `approvals.recovery`
finishes what a crash interrupted.
"""
