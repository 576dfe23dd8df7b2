"""The experiments of the SHOPCA paper, rerun."""
