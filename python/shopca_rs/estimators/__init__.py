"""SHOPCA, Shape Operator Eigenmaps, LPP, neighbours for scikit-learn, and what they share."""
