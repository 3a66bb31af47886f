#pragma once

#include "libraries/primitives/cpu/numbers.hpp"
#include "libraries/primitives/shared/combiner.hpp"

#include <array>
#include <cstddef>

namespace troupe::cpu {

/// Elements that are combined before the next level of the tree: a whole number of `lanes`.
inline constexpr std::int64_t stretch = 4096;
/// Accumulators that do not wait for each other.
inline constexpr std::int64_t lanes = 32;

/// Calls `f` with a `combiner` whose operation the compiler knows.
template <class Accumulator, class F>
auto with_combiner(primitives::combination op, F f) {
  using primitives::combination;
  if (op == combination::sum) {
    return f([](Accumulator a, Accumulator b) { return static_cast<Accumulator>(a + b); });
  }
  return f([](Accumulator a, Accumulator b) { return static_cast<Accumulator>(a * b); });
}

/// All of a stretch, each as `widen` gives it, combined: in lanes first.
template <class Accumulator, class T, class Widen, class Combine>
[[nodiscard]] Accumulator combine_stretch(const T* x, std::int64_t n, Accumulator identity,
                                          Widen widen, Combine combine) {
  Accumulator sums[lanes];
  std::fill_n(sums, lanes, identity);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] = combine(sums[lane], widen(x[i + lane]));
  }
  for (std::int64_t lane = 0; i < n; ++i, ++lane)
    sums[lane] = combine(sums[lane], widen(x[i]));
  for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane)
      sums[lane] = combine(sums[lane], sums[lane + half]);
  }
  return sums[0];
}

/// All elements combined, by a tree that depends on their number alone: rounding errors grow with
/// its height and not with the number.
template <class Accumulator, class T, class Widen, class Combine>
[[nodiscard]] Accumulator combine_all(const elements<T>& x, Accumulator identity, Widen widen,
                                      Combine combine) {
  // The results of 2^level stretches, for each bit that is set in `done`.
  std::array<Accumulator, 64> levels;
  std::uint64_t done = 0;
  x.template for_each_stretch<stretch>([&](const T* first, std::int64_t n) {
    Accumulator sum = combine_stretch(first, n, identity, widen, combine);
    std::size_t level = 0;
    for (; (done >> level & 1) != 0; ++level)
      sum = combine(levels[level], sum);
    levels[level] = sum;
    ++done;
  });
  Accumulator all = identity;
  for (std::size_t level = 0; done >> level != 0; ++level) {
    if ((done >> level & 1) != 0) all = combine(levels[level], all);
  }
  return all;
}

/// The sum or product of elements.
template <class T>
[[nodiscard]] accumulator_for<T> combined(const elements<T>& x, primitives::combination op) {
  using accumulator = accumulator_for<T>;
  const accumulator identity = primitives::combiner<accumulator>{op}.identity();
  return with_combiner<accumulator>(op, [&](auto combine) {
    return combine_all<accumulator>(x, identity, [](T value) { return widened(value); }, combine);
  });
}

}  // namespace troupe::cpu
