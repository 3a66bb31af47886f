#pragma once

// Results of the few lines of windows, in one pass: part of line_kernels_for.hpp. Vectors of
// results stay in registers while the lines are read.

#include "libraries/dnn/cpu/lines/line_kernels.hpp"

#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace troupe::cpu {
namespace {

// Registers of AVX-512 are no faster where processors have them as two halves, and conversions of
// bytes to them are not one instruction.
#if defined(__AVX2__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif

template <class Real>
struct vectors {
  static constexpr int lanes = register_bytes / static_cast<int>(sizeof(Real));
  using whole = std::conditional_t<sizeof(Real) == 8, std::int64_t, std::int32_t>;
  // An alias cannot have the attribute. NOLINTBEGIN(modernize-use-using)
  typedef Real reals __attribute__((vector_size(register_bytes)));
  typedef whole wholes __attribute__((vector_size(register_bytes)));
  // NOLINTEND(modernize-use-using)
};

/// Every other element of two vectors, of which the second one begins with the last of the first.
template <class V, int... I>
[[gnu::always_inline]] inline void take_every_other(const typename V::reals& a,
                                                    const typename V::reals& b,
                                                    typename V::reals& to,
                                                    std::integer_sequence<int, I...>) {
  to = __builtin_shufflevector(a, b, (I < V::lanes / 2 ? 2 * I : 2 * I + 1)...);
}

/// A vector of elements that lie `Step` apart, 1 or 2; nothing beyond the last one is read.
template <int Step, class T>
[[gnu::always_inline]] inline void load_lanes(const T* x, typename vectors<real_of<T>>::reals& to) {
  using v = vectors<real_of<T>>;
  if constexpr (!std::same_as<T, real_of<T>>) {
    real_of<T> wide[v::lanes];
    for (int i = 0; i < v::lanes; ++i)
      wide[i] = widen(x[std::ptrdiff_t{i} * Step]);
    std::memcpy(&to, wide, sizeof(to));
  } else if constexpr (Step == 1) {
    std::memcpy(&to, x, sizeof(to));
  } else {
    typename v::reals a;
    typename v::reals b;
    std::memcpy(&a, x, sizeof(a));
    std::memcpy(&b, x + v::lanes - 1, sizeof(b));
    take_every_other<v>(a, b, to, std::make_integer_sequence<int, v::lanes>());
  }
}
template <class T>
[[gnu::always_inline]] inline void store_lanes(const typename vectors<real_of<T>>::reals& from,
                                               T* y) {
  if constexpr (std::same_as<T, real_of<T>>) {
    std::memcpy(y, &from, sizeof(from));
  } else {
    for (int i = 0; i < vectors<real_of<T>>::lanes; ++i)
      narrow(from[i], y[i]);
  }
}

/// Calls `of_vectors(first, count)`, with a constant count, and `of_one(i)` for the rest. If
/// vectors overlap, elements are computed twice.
template <class Real, class Vectors, class One>
[[gnu::always_inline]] inline void in_vectors(std::int64_t n, bool vectorised, Vectors of_vectors,
                                              One of_one) {
  constexpr int lanes = vectors<Real>::lanes;
  constexpr int several = 4;
  if (!vectorised || n < lanes) {
    for (std::int64_t i = 0; i < n; ++i)
      of_one(i);
    return;
  }
  std::int64_t i = 0;
  constexpr std::int64_t at_once = std::int64_t{several} * lanes;
  for (; n - i >= at_once; i += at_once)
    of_vectors(i, std::integral_constant<int, several>());
  for (; n - i >= lanes; i += lanes)
    of_vectors(i, std::integral_constant<int, 1>());
  if (i < n) of_vectors(n - lanes, std::integral_constant<int, 1>());
}

// Not inline, where its loop would be unrolled before it is vectorised.
template <class Whole, class Place>
[[gnu::noinline]] void store_kept(const Whole* from, std::int64_t n, Place* to) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = static_cast<Place>(from[i]);
}

template <class T, class Place>
void max_of_lines(std::span<const line_part<T>> parts, std::int64_t step, std::int64_t n, T* y,
                  std::int64_t y_step, Place* places, std::int64_t places_step) {
  using real = real_of<T>;
  using v = vectors<real>;
  constexpr real least = -std::numeric_limits<real>::infinity();
  const std::int32_t first = parts.front().place;
  const auto of_one = [&](std::int64_t j) {
    real best = least;
    std::int32_t place = first;
    for (const line_part<T>& part : parts) {
      const real x = widen(part.x[j * step]);
      const bool taken = !(x <= best) && best == best;
      best = taken ? x : best;
      place = taken ? part.place : place;
    }
    narrow(best, y[j * y_step]);
    if (places != nullptr) places[j * places_step] = static_cast<Place>(place);
  };
  const auto run = [&](auto s) {
    constexpr int apart = decltype(s)::value;
    const bool together = step == apart && y_step == 1 && (places == nullptr || places_step == 1);
    const auto of_vectors = [&](std::int64_t j, auto count) {
      constexpr int many = decltype(count)::value;
      typename v::reals best[static_cast<std::size_t>(many)];
      typename v::wholes place[static_cast<std::size_t>(many)];
      for (int k = 0; k < many; ++k) {
        best[k] = least - typename v::reals{};
        place[k] = first + typename v::wholes{};
      }
      for (const line_part<T>& part : parts) {
        const typename v::wholes here = part.place + typename v::wholes{};
        for (int k = 0; k < many; ++k) {
          typename v::reals x;
          load_lanes<apart>(part.x + (j + k * v::lanes) * apart, x);
          const auto taken = ~(x <= best[k]) & (best[k] == best[k]);
          best[k] = taken ? x : best[k];
          place[k] = taken ? here : place[k];
        }
      }
      for (int k = 0; k < many; ++k)
        store_lanes(best[k], y + j + k * v::lanes);
      if (places == nullptr) return;
      typename v::whole kept[static_cast<std::size_t>(many * v::lanes)];
      for (int k = 0; k < many; ++k)
        std::memcpy(kept + k * v::lanes, &place[k], sizeof(place[k]));
      store_kept(kept, many * v::lanes, places + j);
    };
    in_vectors<real>(n, together, of_vectors, of_one);
  };
  if (step == 2) {
    run(std::integral_constant<int, 2>());
  } else {
    run(std::integral_constant<int, 1>());
  }
}

template <class T>
void sum_of_lines(std::span<const line_part<T>> parts, std::int64_t step, std::int64_t n,
                  const channel_numbers<real_of<T>>& by, real_of<T> lines, T* y,
                  std::int64_t y_step) {
  using real = real_of<T>;
  using v = vectors<real>;
  const bool undivided = by.step == 0 && lines * by.first[0] == 1;
  const auto of_one = [&](std::int64_t j) {
    real sum = 0;
    for (const line_part<T>& part : parts)
      sum += part.factor * widen(part.x[j * step]);
    narrow(sum / (lines * by.first[j * by.step]), y[j * y_step]);
  };
  const auto run = [&](auto s) {
    constexpr int apart = decltype(s)::value;
    const auto of_vectors = [&](std::int64_t j, auto count) {
      constexpr int many = decltype(count)::value;
      typename v::reals sums[static_cast<std::size_t>(many)] = {};
      for (const line_part<T>& part : parts) {
        for (int k = 0; k < many; ++k) {
          typename v::reals x;
          load_lanes<apart>(part.x + (j + k * v::lanes) * apart, x);
          sums[k] += part.factor * x;
        }
      }
      for (int k = 0; k < many; ++k) {
        if (undivided) {
          store_lanes(sums[k], y + j + k * v::lanes);
          continue;
        }
        typename v::reals divisors = by.first[0] + typename v::reals{};
        if (by.step != 0) std::memcpy(&divisors, by.first + j + k * v::lanes, sizeof(divisors));
        store_lanes(sums[k] / (lines * divisors), y + j + k * v::lanes);
      }
    };
    in_vectors<real>(n, step == apart && y_step == 1, of_vectors, of_one);
  };
  if (step == 2) {
    run(std::integral_constant<int, 2>());
  } else {
    run(std::integral_constant<int, 1>());
  }
}

template <class T, class Place>
void where_of_lines(std::span<const line_part<T>> parts, std::int64_t step,
                    std::int64_t places_step, std::int64_t n, real_of<T>* y) {
  using real = real_of<T>;
  using v = vectors<real>;
  const auto places_of = [](const line_part<T>& part) {
    return static_cast<const Place*>(part.places);
  };
  const auto of_one = [&](std::int64_t j) {
    real sum = 0;
    for (const line_part<T>& part : parts) {
      const bool here = places_of(part)[j * places_step] == static_cast<Place>(part.place);
      sum += here ? widen(part.x[j * step]) : real{0};
    }
    y[j] = sum;
  };
  const auto of_vectors = [&](std::int64_t j, auto count) {
    constexpr int many = decltype(count)::value;
    typename v::reals sums[static_cast<std::size_t>(many)] = {};
    for (const line_part<T>& part : parts) {
      const Place* const places = places_of(part) + j;
      const auto wanted = static_cast<typename v::whole>(static_cast<Place>(part.place));
      for (int k = 0; k < many; ++k) {
        typename v::reals x;
        load_lanes<1>(part.x + j + k * v::lanes, x);
        typename v::whole found[v::lanes];
        for (int i = 0; i < v::lanes; ++i)
          found[i] = places[k * v::lanes + i];
        typename v::wholes wide;
        std::memcpy(&wide, found, sizeof(wide));
        const auto here = wide == wanted;
        sums[k] += here ? x : typename v::reals{};
      }
    }
    for (int k = 0; k < many; ++k)
      store_lanes<real>(sums[k], y + j + k * v::lanes);
  };
  in_vectors<real>(n, step == 1 && places_step == 1, of_vectors, of_one);
}

}  // namespace
}  // namespace troupe::cpu
