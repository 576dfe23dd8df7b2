"""Curvature against closed forms and against its NumPy twin."""

import geometry_twin as twin
import numpy as np
import pytest
import shapes
from refusals import refuses
from shopca_rs import curvatures, k_neighbors, second_fundamental_form

TWIN_SHAPES = ("torus", "Clifford torus", "Veronese", "S3 in R6", "saddle")


def cloud(name, n=800, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    shape = shapes.ALL[name](n, rng)
    return shape, shapes.noisy(shape.points, noise, rng) if noise else shape.points


def errors(bent, form):
    """|II − true| / |true| at every point."""
    gap = shapes.ambient(bent.tangent, bent.form) - form
    return np.sqrt((gap**2).sum((1, 2, 3)) / (form**2).sum((1, 2, 3)))


def same_form(bent, expected, tolerance=1e-10):
    gap = errors(bent, shapes.ambient(expected["tangent"], expected["form"]))
    assert gap.max() < tolerance
    return True


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("name", TWIN_SHAPES)
def test_one_stage_agrees_with_its_twin(name, noise, order):
    shape, X = cloud(name, 400, noise)
    m = shape.dimension
    k = 3 * twin.unknowns(m, order)
    expected = twin.second_form(X, twin.neighbors(X, k), m, order=order)
    bent = second_fundamental_form(X, k, intrinsic_dim=m, order=order)
    assert bent.valid.all()
    # In the corners of a patch some fits under noise are ill-conditioned.
    assert same_form(bent, expected, 1e-10 if shape.inside is None else 1e-8)
    assert np.abs(bent.offset - expected["offset"]).max() < 1e-10
    if noise:
        for ours, theirs in [
            (bent.standard_error**2, expected["form_variance"]),
            (bent.trace_variance, expected["trace_variance"]),
            (bent.noise**2, expected["noise_variance"]),
        ]:
            assert np.allclose(ours, theirs, rtol=1e-8, atol=0)


@pytest.mark.parametrize(("d", "k"), [(20, 15), (20, 40), (60, 30)])
def test_few_points_in_many_columns_agree_with_the_twin(d, k):
    rng = np.random.default_rng(3)
    X = shapes.isometry(shapes.torus(300, rng).points, rng, d) + 0.01 * rng.standard_normal((300, d))
    expected = twin.second_form(X, twin.neighbors(X, k), 2)
    bent = second_fundamental_form(X, k, intrinsic_dim=2, order=2)
    gap = np.abs(bent.mean_curvature_vector - np.einsum("naad->nd", expected["form"]) / 2)
    assert gap.max() < 1e-10 * np.abs(expected["form"]).max()
    assert np.allclose(bent.standard_error**2, expected["form_variance"], rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", ["torus", "Veronese", "S3 in R6"])
def test_two_stages_agree_with_their_twin(name):
    shape, X = cloud(name, 500, 0.01)
    m = shape.dimension
    k1 = 4 * twin.unknowns(m, 3)
    expected = twin.two_stage(X, m, k1, max(twin.unknowns(m, 3), k1 // 2))
    bent = second_fundamental_form(X, k1, intrinsic_dim=m, stages=2)
    assert bent.second_neighbors == max(twin.unknowns(m, 3), k1 // 2)
    assert same_form(bent, expected)
    some = second_fundamental_form(X, k1, intrinsic_dim=m, stages=2, points=[7, 300])
    assert np.allclose(
        shapes.ambient(some.tangent, some.form),
        shapes.ambient(bent.tangent, bent.form)[[7, 300]],
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("name", ["ellipsoid", "Clifford torus"])
def test_the_automatic_choice_is_that_of_the_twin(name, noise):
    shape, X = cloud(name, 900, noise)
    sample = np.random.RandomState(0).permutation(len(X))[:200]
    tangent, form, choice = twin.automatic(X, shape.dimension, sample)
    bent = second_fundamental_form(X, intrinsic_dim=shape.dimension)
    assert (bent.stages, bent.n_neighbors) == (choice["stages"], choice["k"])
    assert bent.second_neighbors == choice.get("second")
    assert same_form(bent, {"tangent": tangent, "form": form})


# Bounds on closed forms with default settings: the median of the whole tensor's relative error.
@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("sphere", 0.002),
        ("ellipsoid", 0.002),
        ("torus", 0.002),
        ("Clifford torus", 0.002),
        ("Veronese", 0.002),
        ("S3 in R6", 0.01),
        ("cylinder", 0.01),
        ("saddle", 0.01),
        ("swiss roll", 0.01),
        ("catenoid", 0.01),
        ("S2 x S1", 0.01),
    ],
)
def test_closed_forms_are_found_with_default_settings(name, bound):
    shape, X = cloud(name, 5000)
    rows = np.arange(0, 5000, 10)
    if shape.inside is not None:
        rows = rows[shape.inside[rows] > np.quantile(shape.inside, 0.4)]
    bent = second_fundamental_form(X, points=rows)
    assert bent.intrinsic_dim == shape.dimension
    assert np.median(errors(bent, shape.form[rows])) < bound


def test_curvatures_are_the_scalars_of_the_form():
    for name in ("torus", "Veronese", "S3 in R6"):
        shape, X = cloud(name, 600, 0.005)
        m = shape.dimension
        for options in ({"n_neighbors": 60}, {"n_neighbors": 80, "stages": 2}):
            bent = second_fundamental_form(X, intrinsic_dim=m, **options)
            scalars = curvatures(X, intrinsic_dim=m, **options)
            assert np.allclose(scalars.mean, np.linalg.norm(bent.mean_curvature_vector, axis=1), rtol=1e-12)
            assert np.allclose(scalars.squared_norm, bent.squared_norm, rtol=1e-10)
            assert np.allclose(scalars.scalar, bent.scalar_curvature, rtol=1e-10, atol=1e-10)
            assert np.array_equal(scalars.standard_error, bent.standard_error)
            assert np.allclose(
                np.einsum("naa->n", bent.ricci), scalars.scalar, atol=20 * scalars.standard_error.max()
            )
            if name == "torus":
                assert np.allclose(scalars.principal, bent.principal_curvatures, atol=1e-10)
                assert np.allclose(scalars.normal, bent.normal, atol=1e-10)
                assert np.array_equal(scalars.gaussian, scalars.scalar / 2)
            else:
                assert scalars.principal is None


def test_invariants_of_a_clifford_torus():
    # Two circles of radius √½: |H| = ½ |(√2, √2)| = 1, and flat.
    _, X = cloud("Clifford torus", 5000)
    bent = curvatures(X, points=np.arange(0, 5000, 20))
    assert np.abs(bent.mean - 1).max() < 1e-2
    assert np.abs(bent.scalar).max() < 1e-2


def test_curvature_scales_as_the_inverse_radius():
    _, X = cloud("torus", 500)
    plain = curvatures(X, 30, intrinsic_dim=2)
    for scale in (1e-3, 7.0, 1e9, 1e-120, 1e120):
        scaled = curvatures(X * scale, 30, intrinsic_dim=2)
        assert np.allclose(scaled.mean * scale, plain.mean, rtol=1e-12, atol=0)
        assert np.allclose(scaled.principal * scale, plain.principal, rtol=0, atol=1e-11)


@pytest.mark.parametrize("d", [20, 100])
def test_isometries_change_no_invariant(d):
    rng = np.random.default_rng(5)
    X = shapes.torus(400, rng).points
    plain, turned = (curvatures(Y, 30, intrinsic_dim=2) for Y in (X, shapes.isometry(X, rng, d) + 3.0))
    for name in ("mean", "scalar", "squared_norm"):
        assert np.abs(getattr(plain, name) - getattr(turned, name)).max() < 1e-10


def test_a_plane_is_flat():
    rng = np.random.default_rng(6)
    X = shapes.plane(500, rng, 10).points
    for options in ({}, {"n_neighbors": 20}, {"n_neighbors": 40, "stages": 2}):
        bent = second_fundamental_form(X, intrinsic_dim=2, **options)
        assert np.sqrt((bent.form**2).sum((1, 2, 3))).max() < 1e-10


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("name", ["sphere", "torus", "Veronese"])
def test_standard_errors_are_those_of_the_errors(name, stages):
    # Little noise and a small window, so that there is hardly any bias.
    shape, X = cloud(name, 8000, 0.004)
    rows = np.arange(0, 8000, 13)
    bent = second_fundamental_form(X, 90, intrinsic_dim=2, stages=stages, points=rows)
    gap = shapes.ambient(bent.tangent, bent.form) - shape.form[rows]
    squares = (gap**2).sum((1, 2, 3))
    assert 0.85 < np.sqrt(squares.mean() / (bent.standard_error**2).mean()) < 1.2
    assert (np.sqrt(squares) < 2 * bent.standard_error).mean() > 0.9


def test_the_noise_share_of_the_squared_norm_is_taken_off():
    rng = np.random.default_rng(8)
    X = shapes.noisy(shapes.isometry(shapes.sphere(2500, rng, 3).points, rng, 60), 0.005, rng)
    bent = second_fundamental_form(X, 60, intrinsic_dim=3, order=2, points=np.arange(0, 2500, 20))
    assert (bent.form**2).sum((1, 2, 3)).mean() > 3 * 1.15
    assert abs(bent.squared_norm.mean() / 3 - 1) < 0.1
    assert abs(bent.scalar_curvature.mean() / 6 - 1) < 0.1


def test_orientation_is_one_side_of_the_surface():
    # The mean curvature vector of this torus points outwards near its axis: cos v < −R / 2r.
    rng = np.random.default_rng(9)
    X = shapes.torus(3000, rng, 1.0, 0.7).points
    plain = curvatures(X, 40, intrinsic_dim=2)
    oriented = curvatures(X, 40, intrinsic_dim=2, orient=True)
    ring = np.c_[X[:, :2] / np.linalg.norm(X[:, :2], axis=1)[:, None], np.zeros(3000)]
    inwards = ring - X
    assert ((plain.normal * inwards).sum(1) < 0).any()
    assert ((oriented.normal * inwards).sum(1) > 0).all()
    assert (oriented.mean < 0).any()
    assert np.allclose(oriented.mean, oriented.principal.mean(1))
    form = second_fundamental_form(X, 40, intrinsic_dim=2, orient=True)
    assert np.allclose(form.normal, oriented.normal, atol=1e-9)
    assert np.allclose(form.principal_curvatures, oriented.principal, atol=1e-9)
    turned = np.einsum("nda,ndb->nab", form.principal_directions, form.principal_directions)
    assert np.allclose(turned, np.eye(2), atol=1e-9)


def test_what_grids_and_duplicates_leave_open_is_flagged():
    line = np.arange(10.0)
    grid = np.array([(x, y, 0.0) for x in line for y in line])
    # Nine points of a square have x³ = x.
    with pytest.warns(UserWarning, match="is few"), pytest.warns(UserWarning, match="do not determine"):
        bent = second_fundamental_form(grid, 9, intrinsic_dim=2, order=3)
    assert not bent.valid.all()
    assert np.isnan(bent.form[~bent.valid]).all()
    assert np.isnan(bent.standard_error[~bent.valid]).all()
    assert np.isfinite(bent.form[bent.valid]).all()
    copies = np.repeat(np.random.default_rng(0).normal(size=(30, 3)), 30, axis=0)
    with pytest.warns(UserWarning, match="900 of 900"):
        assert not curvatures(copies, 20, intrinsic_dim=2, order=2).valid.any()


def test_the_bits_do_not_depend_on_threads_or_algorithm():
    _, X = cloud("Veronese", 700, 0.01)
    for options in ({}, {"n_neighbors": 40}, {"n_neighbors": 60, "stages": 2}):
        expected, *others = (
            second_fundamental_form(X, intrinsic_dim=2, n_jobs=n_jobs, algorithm=algorithm, **options)
            for n_jobs, algorithm in ((1, "auto"), (2, "kd_tree"), (3, "brute"), (8, "auto"))
        )
        for other in others:
            assert other.form.tobytes() == expected.form.tobytes()
            assert other.standard_error.tobytes() == expected.standard_error.tobytes()


def test_given_neighbours_are_used():
    _, X = cloud("torus", 500)
    indices, _ = k_neighbors(X, 30)
    expected = curvatures(X, 30, intrinsic_dim=2)
    assert np.array_equal(curvatures(X, neighbors=indices, intrinsic_dim=2).mean, expected.mean)
    some = curvatures(X, neighbors=indices, intrinsic_dim=2, points=[3, 4])
    assert np.allclose(some.mean, expected.mean[3:5], rtol=1e-13)


def test_few_neighbours_are_a_warning_and_too_few_an_error():
    _, X = cloud("torus", 200)
    with pytest.warns(UserWarning, match="n_neighbors = 6 is few"):
        bent = second_fundamental_form(X, 6, intrinsic_dim=2, order=2)
    assert np.isfinite(bent.standard_error).all()
    with pytest.warns(UserWarning, match="is few"):
        bent = second_fundamental_form(X, 5, intrinsic_dim=2, order=2)
    assert np.isinf(bent.standard_error[bent.valid]).all()
    refuses(ValueError, ("at least 5", "6 unknowns", "got 4"), curvatures, X, 4, intrinsic_dim=2, order=2)


@pytest.mark.parametrize("function", [curvatures, second_fundamental_form])
def test_bad_arguments_are_refused_in_a_sentence(function):
    _, X = cloud("torus", 100)
    refuses(ValueError, ("intrinsic_dim must be from 1 to d − 1 = 2", "got 3"), function, X, intrinsic_dim=3)
    refuses(ValueError, ("intrinsic_dim must be at least 1, got 0",), function, X, intrinsic_dim=0)
    refuses(ValueError, ("order", "one of 2, 3, 4, got 5"), function, X, order=5)
    refuses(ValueError, ("stages", "one of 1, 2, got 3"), function, X, stages=3)
    refuses(ValueError, ("n_neighbors must be at most n − 1 = 99",), function, X, 100, intrinsic_dim=2)
    refuses(TypeError, ("n_neighbors must be an integer",), function, X, 2.5)
    refuses(ValueError, ("at least 2 columns",), function, X[:, :1])
    refuses(ValueError, ("at least 45 rows", "intrinsic_dim"), function, X[:20], order=3, intrinsic_dim=2)
    refuses(ValueError, ("neighbors must be None with stages=2",), function, X, stages=2, neighbors=[[1]])
    wide = np.c_[X, X]
    refuses(ValueError, ("orient needs one normal",), function, wide, 20, intrinsic_dim=2, orient=True)


def test_principal_curvatures_need_one_normal_direction():
    _, X = cloud("Veronese", 200)
    bent = second_fundamental_form(X, 30, intrinsic_dim=2)
    refuses(ValueError, ("one normal direction", "d = 5"), lambda: bent.principal_curvatures)
    refuses(ValueError, ("normal must have shape",), bent.shape_operator, [1.0, 2.0])
    along = bent.shape_operator(np.eye(5)[0])
    assert np.allclose(along, bent.form[..., 0])


def test_progress_counts_to_its_total():
    _, X = cloud("torus", 600, 0.01)
    for options in ({"n_neighbors": 30}, {"n_neighbors": 40, "stages": 2}):
        seen = []
        curvatures(
            X, intrinsic_dim=2, progress=lambda done, total, seen=seen: seen.append((done, total)), **options
        )
        assert seen[-1][0] == seen[-1][1] > 0


def test_the_old_call_names_both_functions():
    _, X = cloud("torus", 100)
    for old in ({"k": 8}, {"degenerate": "lapack"}):
        refuses(
            TypeError, ("curvatures(X, n_neighbors=...)", "operator_curvatures(X, k)"), curvatures, X, **old
        )
    refuses(TypeError, ("unexpected keyword argument 'neighbours'",), curvatures, X, neighbours=8)
    wide = np.random.default_rng(0).normal(size=(300, 8))
    refuses(
        ValueError,
        ("must be at least", "operator_curvatures(X, k)", "was curvatures(X, k)"),
        curvatures,
        wide,
        8,
    )


def test_a_second_fundamental_form_shows_its_sizes_and_settings():
    _, X = cloud("torus", 300)
    shown = repr(second_fundamental_form(X, n_neighbors=12, intrinsic_dim=2))
    assert shown == (
        "SecondFundamentalForm(300 points, m = 2, d = 3, n_neighbors = 12, "
        "stages = 1, order = 2, flagged = 0)"
    )
