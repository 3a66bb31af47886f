"""`troupe.serving.pack`: a batch of items of different lengths in one upload."""

import numpy as np
import pytest
from troupe.serving import pack


@pytest.mark.parametrize("lengths", [[], [1], [0, 3, 0], [5, 128, 1, 17]])
@pytest.mark.parametrize("as_list", [False, True])
def test_items_lie_one_behind_another(gpu, rng, lengths, as_list):
    arrays = [rng.integers(-(2**31), 2**31, n, np.int64).astype("i4") for n in lengths]
    sent = gpu.statistics.sent
    packed = pack(gpu, [one.tolist() for one in arrays] if as_list else arrays)
    assert gpu.statistics.sent == sent + 1
    assert (packed.count, packed.total) == (len(lengths), sum(lengths))
    assert packed.longest == max(lengths, default=0)
    np.testing.assert_array_equal(packed.ids.numpy(), np.concatenate([np.int32([]), *arrays]))
    np.testing.assert_array_equal(packed.lengths.numpy(), lengths)
    np.testing.assert_array_equal(packed.offsets.numpy(), np.cumsum([0, *lengths]))


def test_what_is_no_i32_is_refused(gpu):
    with pytest.raises(OverflowError):
        pack(gpu, [[2**31]])
    assert pack(gpu, [np.array([2**31 - 1]), np.uint8([7])]).ids.tolist() == [2**31 - 1, 7]
    with pytest.raises(OverflowError):
        pack(gpu, [np.array([1]), np.array([2**31])])
    with pytest.raises(TypeError):
        pack(gpu, [np.array([0.5])])
