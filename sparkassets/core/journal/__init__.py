"""The journal: what its entries mean, the fold over them, and the snapshot of what it yields."""
