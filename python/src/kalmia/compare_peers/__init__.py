"""A comparison with other online learners: ``python -m kalmia.compare_peers``, extra ``peers``."""
