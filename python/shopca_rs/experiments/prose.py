"""The fixed sentences of the report: what the protocols are, and what follows from them."""

from __future__ import annotations

PUBLISHED = """\
## The published protocol

The tables were not made as the text says. These rules give their numbers, and nothing else we tried does:

| | the text | the tables |
|---|---|---|
| k | log2 n | round(ln n) |
| eigengap | divided by the sum of all magnitudes | divided by the magnitude of its own eigenvalue |
| with two features | – | no third eigenvalue: the gap behind the first |
| candidates for α | "e.g. [0.1, 100]" | 15 from 0.1 to 100, geometric |
| clustering | Ward | complete linkage |
| preparation | standardise, then PCA if d > 25 | missing values to 0, PCA if d > 25, then standardise |
| Σ divides by | n | n − 1 |
| neighbours at equal distances | – | as scikit-learn's search returns them |

Two things follow that no rerun can mend. After "PCA to 25, then standardise" every direction has the
variance 1: Σ is the identity, λ no longer changes the directions of SHOPCA, and the "PCA" baseline of
every data set with more than 25 features is an arbitrary rotation of white noise, which another version
of the solver rotates otherwise. And where k ≤ d, as it is for most of the data sets, the eigenvectors of
a neighbourhood are not determined by the data but by the rounding errors of the eigensolver. So three
columns follow for SHOPCA: with the bases of NumPy's LAPACK, which the tables most likely had; with those
of the LAPACK in this package; and with the average over all bases, which is a function of the data
(`degenerate="average"`, the default of this package)."""

WRITTEN = """\
## As the text is written

k = log2 n, the gap divided by the sum of all magnitudes, Ward's linkage, standardised before PCA to 25.
Missing values, of which the text says nothing, become the mean of their column; α is taken from 50
candidates."""

FAIR = """\
## The fair protocol

Standardised, PCA to 25 only where there are more features, no second scaling, the same input for every
method, two output dimensions. Ward's linkage, k-means and complete linkage into as many clusters as
classes; the accuracy of 7 nearest neighbours over five folds. NMI and V-measure are one number: both
divide the mutual information by the mean of the two entropies."""

SIDE_BY_SIDE = """\
## Side by side

Mean ARI / FM / V over the data sets of each of the paper's tables (in brackets: how many of them could be
run everywhere). SHOPCA is the paper's to the letter, with a solver's bases; under the fair protocol it is
the default of this package."""

RANKING = """\
Mean difference from PCA over the data sets with a bootstrap interval of 95 %; light dots are single data
sets; at the right the mean rank."""
