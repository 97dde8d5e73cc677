"""Webhooks: decisions that are sent to an agent's service as signed messages (Standard Webhooks 1.0).

`outbox` makes deliveries from the events of proposals, `deliveries` says whose turn one is and what became of it,
`sending` runs them in threads, `transport` is the one place that connects to an address somebody typed. `endpoints`
has what people do on the pages. Nobody on the path of a decision calls any of it. Called by views, admin and tasks.
"""
