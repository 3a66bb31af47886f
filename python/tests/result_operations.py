"""Operations that leave their results, or part of them, as they are."""

import importlib.util

import troupe

ARRAYS = "torch" if importlib.util.find_spec("torch") else None
F32 = troupe.Reads("n", dtype="f32")
LIKE_X = troupe.Writes("n", like="x")


@troupe.operation("results.rebound", arrays=ARRAYS)
def rebound(x: F32, y: LIKE_X) -> None:
    y = x * 2  # noqa: F841


@troupe.operation("results.part", arrays=ARRAYS)
def part(x: F32, y: LIKE_X) -> None:
    y[:60] = x[:60]


@troupe.operation("results.written", arrays=ARRAYS)
def written(
    x: F32, y: LIKE_X, z: troupe.Updates("n", like="x"), b: troupe.Writes(dtype="u8")
) -> None:
    y[:] = x * 2


@troupe.operation("results.answers", arrays=ARRAYS)
def answers(x: F32, y: LIKE_X):
    return 7
