#pragma once

#include "libraries/primitives/cpu/reduction.hpp"

#include <bit>

/// Minima and maxima, as ranks, whose order is the one that the library states. Numbers that the
/// processor compares itself are compared as they are.
namespace troupe::cpu {

template <class T>
using key_for = primitives::unsigned_of_bytes<sizeof(T)>;
template <class T>
using order_for = primitives::extreme_order<key_for<T>>;

namespace detail {

/// True if `is` holds for an element.
template <class T, class Is>
[[nodiscard]] bool any_of_stretch(const T* x, std::int64_t n, Is is) {
  using key = key_for<T>;
  return combine_stretch<key>(
             x, n, key{0}, [&](T value) { return is(value) ? key{1} : key{0}; },
             [](key a, key b) { return static_cast<key>(a | b); }) != 0;
}

/// The first or last of numbers without a NaN.
template <class T>
[[nodiscard]] T extreme_number(const T* x, std::int64_t n, bool smallest) {
  const auto as_it_is = [](T value) { return value; };
  if (smallest) {
    return combine_stretch<T>(x, n, x[0], as_it_is, [](T a, T b) { return b < a ? b : a; });
  }
  return combine_stretch<T>(x, n, x[0], as_it_is, [](T a, T b) { return a < b ? b : a; });
}

}  // namespace detail

/// The highest rank of a stretch, which is not empty.
template <class T>
[[nodiscard]] key_for<T> highest_rank(const T* x, std::int64_t n, const order_for<T>& order) {
  using key = key_for<T>;
  const auto rank_of = [&](T value) { return order.rank_of(std::bit_cast<key>(value)); };
  if constexpr (std::floating_point<T>) {
    if (detail::any_of_stretch(x, n, [](T value) { return value != value; })) {
      return primitives::key_order<key>::highest;
    }
    const T best = detail::extreme_number(x, n, order.smallest());
    if (best != 0) return rank_of(best);
    const T extreme_zero = order.smallest() ? T{-0.0} : T{0.0};
    const auto bits = std::bit_cast<key>(extreme_zero);
    return detail::any_of_stretch(x, n, [&](T value) { return std::bit_cast<key>(value) == bits; })
               ? rank_of(extreme_zero)
               : rank_of(-extreme_zero);
  } else if constexpr (std::integral<T>) {
    return rank_of(detail::extreme_number(x, n, order.smallest()));
  } else {
    return combine_stretch<key>(x, n, key{0}, rank_of, [](key a, key b) { return a > b ? a : b; });
  }
}

/// The highest rank of all elements; 0 for none.
template <class T>
[[nodiscard]] key_for<T> highest_rank(const elements<T>& x, const order_for<T>& order) {
  key_for<T> best = 0;
  x.template for_each_stretch<stretch>([&](const T* first, std::int64_t n) {
    best = std::max(best, highest_rank(first, n, order));
  });
  return best;
}

}  // namespace troupe::cpu
