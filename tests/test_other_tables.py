"""Tables of other libraries give a result, or a sentence that says how to convert them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from nasty import continuous
from shopca_rs import LPP, SHOPCA, NearestNeighbors, k_neighbors, mean_shape_operator

X = continuous(60, 4)
NAMES = list("abcd")


def xarray_table(kind):
    xarray = pytest.importorskip("xarray")
    if kind == "DataArray":
        return xarray.DataArray(X, dims=("row", "column"))
    return xarray.Dataset({name: ("row", X[:, j]) for j, name in enumerate(NAMES)})


def torch_tensor(**options):
    torch = pytest.importorskip("torch")
    return torch.tensor(X, dtype=torch.float64, **options)


class DLPackOnly:
    """What the array API standard asks of an array in the main memory, and nothing of NumPy."""

    def __init__(self, array):
        self.array, self.shape, self.ndim = array, array.shape, array.ndim

    def __len__(self):
        return len(self.array)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnADevice(DLPackOnly):
    def __dlpack__(self, **options):
        raise BufferError("not in the main memory")


def refusing(module, name, error):
    """Return a stand-in for a tensor that NumPy cannot read, with the error that its library raises."""

    def refuse(self, *arguments, **options):
        raise error

    kind = type(name, (DLPackOnly,), {"__array__": refuse, "__module__": module})
    return kind(X)


READ = {
    "pandas": lambda: pd.DataFrame(X, columns=NAMES),
    "polars": lambda: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
    "xarray": lambda: xarray_table("DataArray"),
    "array_api_strict": lambda: pytest.importorskip("array_api_strict").asarray(X),
    "torch": torch_tensor,
    "DLPack": lambda: DLPackOnly(X),
}
GRADIENT = RuntimeError("Can't call numpy() on Tensor that requires grad.")
DEVICE = TypeError("can't convert cuda:0 device type tensor to numpy.")
IMPLICIT = TypeError("Implicit conversion to a NumPy array is not allowed.")
REFUSED = {
    "LazyFrame": (lambda: pl.DataFrame(X, schema=NAMES).lazy(), "polars.LazyFrame", "X.collect()"),
    "Dataset": (lambda: xarray_table("Dataset"), "xarray.Dataset", "X.to_dataframe()"),
    "torch, gradient": (lambda: torch_tensor(requires_grad=True), "torch.Tensor", "X.detach().cpu().numpy()"),
    "like torch, gradient": (
        lambda: refusing("torch", "Tensor", GRADIENT),
        "torch.Tensor",
        "X.detach().cpu()",
    ),
    "like torch, device": (lambda: refusing("torch", "Tensor", DEVICE), "torch.Tensor", "X.detach().cpu()"),
    "like CuPy": (lambda: refusing("cupy", "ndarray", IMPLICIT), "cupy.ndarray", "X.get()"),
    "device": (lambda: OnADevice(X), "OnADevice", "a copy to main memory"),
}
CALLS = {
    "SHOPCA": lambda table: SHOPCA().fit(table).transform(table),
    "LPP": lambda table: LPP().fit(table).transform(table),
    "NearestNeighbors": lambda table: NearestNeighbors(3).fit(table).kneighbors(table)[0],
    "mean_shape_operator": lambda table: mean_shape_operator(table, 5),
    "k_neighbors": lambda table: k_neighbors(table, 5)[1],
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@every_call
@pytest.mark.parametrize("make", READ.values(), ids=READ)
def test_the_result_is_that_of_the_array(call, make):
    # Columns that lie one after the other are summed in another order.
    assert np.allclose(np.asarray(call(make())), call(X), rtol=1e-9, atol=1e-12)


@every_call
@pytest.mark.parametrize(("make", "kind", "hint"), REFUSED.values(), ids=REFUSED)
def test_what_numpy_cannot_read_is_refused_with_the_way_to_convert_it(call, make, kind, hint):
    with pytest.raises(TypeError, match="must be a table that NumPy can read, got") as error:
        call(make())
    assert kind in str(error.value)
    assert hint in str(error.value)


@pytest.mark.parametrize("make", [SHOPCA, LPP])
def test_polars_tables_come_out_where_they_are_asked_for(make):
    table = READ["polars"]()
    Z = make().set_output(transform="polars").fit_transform(table)
    assert isinstance(Z, pl.DataFrame)
    assert Z.columns == [f"{make.__name__.lower()}{j}" for j in range(2)]
    assert np.allclose(Z.to_numpy(), make().fit_transform(X), rtol=1e-9, atol=1e-12)
