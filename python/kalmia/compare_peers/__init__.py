"""A comparison that anyone can run: ``python -m kalmia.compare_peers``; the peers come with the extra ``peers``."""
