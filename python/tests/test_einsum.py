"""Tensors whose dimensions have names, beside numpy.einsum."""

import numpy as np
import pytest
import troupe

EQUATIONS = [
    ("ik,kj->ij", (4, 5), (5, 6)),
    ("ik,kj", (4, 5), (5, 6)),
    ("ba", (3, 4)),
    ("ii", (4, 4)),
    ("ii->i", (4, 4)),
    ("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 4, 5)),
    ("ab, bc, cd -> ad", (2, 3), (3, 4), (4, 5)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("i,j->ji", (3,), (4,)),
]


# Modes that are named twice, extents of 1 that are repeated, extents of 0.
BROADCAST = [
    ("tiijj->ij", (2, 3, 3, 4, 4)), ("iji->j", (4, 3, 4)), ("ijij->", (2, 3, 2, 3)),
    ("iiii->i", (3, 3, 3, 3)), ("ii,i->", (4, 4), (4,)), ("iij,j->ij", (3, 3, 5), (5,)),
    ("i,i->", (3,), (1,)), ("ij,jk->ik", (3, 1), (4, 5)), ("ij,jk->ik", (3, 4), (1, 5)),
    ("bij,bjk->bik", (1, 3, 4), (6, 4, 5)), ("ij,jk,kl->il", (3, 1), (4, 1), (5, 6)),
    ("i,j,k,l->", (2,), (3,), (4,), (5,)), ("iij,jkk->ik", (3, 3, 4), (4, 2, 2)),
    (",i->i", (), (3,)), ("i->", (0,)), ("ij,jk->ik", (3, 0), (0, 5)), ("i,i->i", (1,), (0,)),
    ("ii->i", (0, 0)),
]  # fmt: skip


ELLIPSES = [
    ("...ij,...jk->...ik", (2, 3, 4, 5), (3, 5, 6)), ("...ij,jk", (2, 1, 4, 5), (5, 6)),
    ("...ij,...jk->ik...", (2, 1, 4, 5), (3, 5, 6)), ("...", (3, 4)), ("i...->...", (3, 4, 2)),
    ("...,...", (3, 1), (2,)), ("i...,i...->...", (3, 4), (3, 2, 4)), ("...ii->...i", (2, 3, 3)),
    ("...a,A...", (2, 3), (4, 2)), ("i...j,jk->ik", (3, 4), (4, 5)), ("...i,...i->...", (3,), (3,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "i4", "i8"])
@pytest.mark.parametrize("equation", ELLIPSES, ids=lambda e: e[0])
def test_an_ellipsis_and_integers(gpu, rng, equation, dtype):
    modes, *shapes = equation
    arrays = [rng.integers(-(2**31), 2**31, shape).astype(dtype) for shape in shapes]
    expected = np.einsum(modes, *arrays)
    y = gpu.einsum(modes, *(gpu.tensor(one) for one in arrays)).result()
    assert (y.shape, y.numpy().dtype) == (expected.shape, dtype)
    if dtype[0] == "i":
        np.testing.assert_array_equal(y.numpy(), expected)
    else:  # terms may cancel, so the bound is relative to their magnitudes
        terms = np.einsum(modes, *map(abs, arrays))
        assert np.all(np.abs(y.numpy() - expected) <= 1e-14 * terms)


@pytest.mark.parametrize("equation", BROADCAST, ids=lambda e: e[0])
def test_extents_of_one_are_repeated(gpu, rng, equation):
    modes, *shapes = equation
    arrays = [rng.standard_normal(shape) for shape in shapes]
    lists = modes.split("->")[0].split(",")
    size = {}
    for names, array in zip(lists, arrays, strict=True):
        for name, extent in zip(names, array.shape, strict=True):
            size[name] = extent if size.get(name, 1) == 1 else size[name]
    full = [
        np.broadcast_to(a, [size[n] if names.count(n) == 1 else e for n, e in zip(names, a.shape, strict=True)])
        for names, a in zip(lists, arrays, strict=True)
    ]  # fmt: skip
    y = gpu.einsum(modes, *(gpu.tensor(one) for one in arrays)).result()
    np.testing.assert_allclose(y.numpy(), np.einsum(modes, *full), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e[0])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_einsum(gpu, rng, equation, dtype):
    modes, *shapes = equation
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    expected = np.einsum(modes, *arrays)
    y = gpu.einsum(modes, *(gpu.tensor(one) for one in arrays)).result()
    assert y.shape == expected.shape
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_out_and_alpha(gpu, rng):
    a, b = rng.standard_normal((2, 4, 4))
    out = gpu.empty((4, 4), "f64")
    y = gpu.einsum("ik,kj->ij", gpu.tensor(a), gpu.tensor(b), out=out, alpha=2).result()
    np.testing.assert_allclose(out.numpy(), 2 * a @ b)
    np.testing.assert_allclose(y.numpy(), out.numpy())


def test_refusals(gpu):
    a = gpu.zeros((2, 3))
    with pytest.raises(troupe.InvalidArgument, match="'z' at position 7 is in no operand"):
        gpu.einsum("ij,jk->z", a, gpu.zeros((3, 4))).result()
    with pytest.raises(troupe.ShapeMismatch, match="mode 'j' is 3"):
        gpu.einsum("ij,jk->ik", a, gpu.zeros((2, 4))).result()
    with pytest.raises(troupe.ShapeMismatch, match="i"):
        gpu.einsum("ii->", gpu.zeros((3, 4))).result()
    with pytest.raises(
        troupe.InvalidArgument, match="the result has no ellipsis, which stands for 1"
    ):
        gpu.einsum("...i->i", a).result()
    with pytest.raises(troupe.ShapeMismatch, match=r"dimension 0 of the ellipsis is 2 in operands"):
        gpu.einsum("...i,...j", a, gpu.zeros((3, 4))).result()
    with pytest.raises(troupe.ShapeMismatch, match="has 3 modes beside an ellipsis"):
        gpu.einsum("i...jk", a).result()
    with pytest.raises(troupe.InvalidArgument, match="a 64-bit integer where d is i64"):
        gpu.einsum("ij->i", gpu.zeros((2, 3), "i64"), alpha=0.5).result()
    with pytest.raises(TypeError, match="at least one operand"):
        gpu.einsum("->")


def test_generated_requests(gpu, rng):
    a, b = rng.standard_normal((2, 3, 4))
    x, y = gpu.tensor(a), gpu.tensor(b)
    d = gpu.tensors.contract(modes="ij,kj->ik", a=x, b=y).result()
    np.testing.assert_allclose(d.numpy(), a @ b.T)
    most = gpu.tensors.reduce(modes="ij->i", a=x, op="maximum").result()
    np.testing.assert_allclose(most.numpy(), a.max(1))
    turned = gpu.tensors.permute(modes="ij->ji", a=x).result()
    np.testing.assert_allclose(turned.numpy(), a.T)
    both = gpu.tensors.binary(modes="ij,i->ij", a=x, c=most, op="subtract").result()
    np.testing.assert_allclose(both.numpy(), a - a.max(1, keepdims=True))


def test_block_sparse_tensors_are_contracted_block_by_block(gpu, rng):
    a = rng.random((8, 6))
    b = rng.random((6, 6))
    a[:3, :4] = a[3:, 4:] = 0  # two blocks are stored: 5 x 4 and 3 x 2
    packed = np.concatenate([a[3:, :4].ravel(), a[:3, 4:].ravel()])
    d = gpu.empty(30, "f64")
    gpu.tensors.contract_blocks(
        modes="ik,kj->ij",
        section_counts=[2, 2, 1],
        sections=[3, 5, 4, 2, 6],
        a=gpu.tensor(packed),
        a_blocks=[1, 0, 0, 1],
        b=gpu.tensor(b.ravel()),
        b_blocks=[0, 0, 1, 0],
        d=d,
        d_blocks=[1, 0],
    ).result()
    np.testing.assert_allclose(d.numpy().reshape(5, 6), (a @ b)[3:], rtol=1e-14)
