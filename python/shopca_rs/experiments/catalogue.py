"""Data sets: the 57 of the SHOPCA paper with their tables and versions on OpenML, and others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BuiltIn = Literal["load_iris", "load_wine", "load_digits"]


@dataclass(frozen=True)
class DataSet:
    """One data set, with the size that the paper or the folder's manifest lists.

    Attributes
    ----------
    name : str
        Its name: the paper's, which is also OpenML's, or the manifest's.
    n, d, classes : int
        Rows, features and classes.
    tables : tuple of int
        The paper's tables that it appears in: 1 compares SHOPCA with PCA, 2 with Isomap, 3 with UMAP. Empty
        for data sets that are not the paper's.
    version : int or None
        Its version on OpenML; None where scikit-learn brings the data set along.
    builtin : str or None
        The function of `sklearn.datasets` that returns it.
    sampled : bool
        Whether the paper took a sample of n rows of it.
    label_columns : tuple of int
        Columns that tell the class exactly, counted from 0.
    remark : str
        What else to know before its scores are believed; empty if nothing.
    """

    name: str
    n: int
    d: int
    classes: int
    tables: tuple[int, ...]
    version: int | None = None
    builtin: BuiltIn | None = None
    sampled: bool = False
    label_columns: tuple[int, ...] = ()
    remark: str = ""

    @property
    def in_paper(self) -> bool:
        """Whether the paper has it."""
        return bool(self.tables)


_CLASS_CODE = "One column correlates 0.99 with the number of the class."
_INDICATORS = (
    "Columns 25 to 34 (from 0) are exact indicators of the ten classes. The paper shows this data set in two "
    "figures, and in its Tables 1 and 2: the clusters there are these columns. The fair protocol leaves them "
    "out, the published and the written one keep them."
)

# In the paper's order, with the paper's sizes. It names no versions: these are the likely ones, and `load`
# notes where their size is another.
CATALOGUE = (
    DataSet("iris", 150, 4, 3, (1, 2, 3), builtin="load_iris"),
    DataSet("wine", 178, 13, 3, (1,), builtin="load_wine"),
    DataSet("digits", 1797, 64, 10, (1, 2), builtin="load_digits"),
    DataSet("diggle_table_a2", 310, 8, 9, (1, 2, 3), 1, remark=_CLASS_CODE),
    DataSet("satimage", 6430, 36, 6, (1,), 1),
    DataSet("mfeat-morphological", 2000, 6, 10, (2,), 1),
    DataSet("mfeat-zernike", 2000, 47, 10, (1,), 1),
    DataSet("mfeat-karhunen", 2000, 64, 10, (1,), 1),
    DataSet("mfeat-fourier", 2000, 77, 10, (1, 2), 1),
    DataSet("mfeat-factors", 2000, 216, 10, (1,), 1),
    DataSet("mfeat-pixel", 2000, 240, 10, (1,), 1),
    DataSet("isolet", 7797, 617, 26, (1,), 1),
    DataSet("optdigits", 5620, 64, 10, (1,), 1),
    DataSet("pendigits", 10992, 16, 10, (1,), 1),
    DataSet("semeion", 1593, 256, 10, (1,), 1),
    DataSet("mnist_784", 14000, 784, 10, (1,), 1, sampled=True),
    DataSet("Fashion-MNIST", 14000, 784, 10, (1, 2), 1, sampled=True),
    DataSet("Kuzushiji-MNIST", 14000, 784, 10, (1,), 1, sampled=True),
    DataSet(
        "cardiotocography", 2126, 35, 10, (1, 2), 1, label_columns=tuple(range(25, 35)), remark=_INDICATORS
    ),
    DataSet("cnae-9", 1080, 856, 9, (1, 2), 1),
    DataSet("JapaneseVowels", 9961, 14, 9, (1,), 1),
    DataSet("segment", 2310, 19, 7, (1, 2), 1),
    DataSet("Indian_pines", 9144, 220, 8, (1,), 1),
    DataSet("letter", 20000, 16, 26, (1,), 1),
    DataSet("wap.wc", 1560, 8460, 20, (1,), 1),
    DataSet("texture", 5500, 40, 11, (1, 2), 1),
    DataSet("USPS", 9298, 256, 10, (1, 2), 1),
    DataSet("coil-20", 1440, 1024, 20, (1, 2), 1),
    DataSet("UMIST_Faces_Cropped", 575, 10304, 20, (1, 2, 3), 1),
    DataSet("har", 10299, 561, 6, (1, 2), 1),
    DataSet("Olivetti_Faces", 400, 4096, 40, (1,), 1),
    DataSet("balance-scale", 625, 4, 3, (2, 3), 1),
    DataSet("mammography", 11183, 6, 2, (2, 3), 1),
    DataSet("abalone", 4177, 8, 3, (2, 3), 3),
    DataSet("Engine1", 383, 5, 3, (2, 3), 1),
    DataSet("penguins", 344, 6, 3, (2, 3), 1),
    DataSet("solar-flare", 1066, 12, 6, (2, 3), 4),
    DataSet("usp05", 203, 16, 11, (2, 3), 1),
    DataSet("Breast", 699, 10, 2, (2, 3), 1),
    DataSet("prnn_synth", 250, 2, 2, (2, 3), 1),
    DataSet("irish", 500, 5, 2, (2, 3), 1),
    DataSet("Satellite", 5100, 36, 2, (2,), 1),
    DataSet("zoo", 101, 16, 7, (3,), 1),
    DataSet("glass", 214, 9, 6, (3,), 1),
    DataSet("prnn_viruses", 61, 18, 4, (3,), 1),
    DataSet("ionosphere", 351, 34, 2, (3,), 1),
    DataSet("ThreeOf9", 512, 9, 2, (3,), 1),
    DataSet("eucalyptus", 736, 19, 5, (3,), 1),
    DataSet("sonar", 208, 60, 2, (3,), 1),
    DataSet("blood-transfusion-service-center", 748, 4, 2, (3,), 1),
    DataSet("lymph", 148, 18, 4, (3,), 1),
    DataSet("teachingAssistant", 151, 6, 3, (3,), 1),
    DataSet("backache", 180, 31, 2, (3,), 1),
    DataSet("heart-h", 294, 13, 2, (3,), 1),
    DataSet("ecoli", 336, 7, 8, (3,), 1),
    DataSet("liver-disorders", 342, 5, 16, (3,), 1),
    DataSet("LED-display-domain-7digit", 500, 7, 10, (3,), 1),
)
