#pragma once

#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe::solver {

/// The positions of a sparse matrix's elements.
struct sparse_pattern {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> places;  ///< the column of each element

  bool operator==(const sparse_pattern&) const = default;
};

namespace detail {

template <class I>
std::vector<std::int64_t> widened(const any_tensor& t) {
  const auto* const first = t.data<I>();
  return {first, first + t.count()};
}
inline std::vector<std::int64_t> integers(const any_tensor& t) {
  return t.type() == dtype::i32 ? widened<std::int32_t>(t) : widened<std::int64_t>(t);
}

inline std::string element(const char* name, std::int64_t at, std::int64_t value) {
  return std::string(name) + "[" + std::to_string(at) + "] is " + std::to_string(value);
}
inline error bad_pattern(std::string message) {
  return {.code = errc::invalid_argument, .message = std::move(message)};
}

}  // namespace detail

/// Reads a pattern from memory that the host reaches. \errors `invalid_argument` for one that is
/// none: libraries would follow it out of its memory.
[[nodiscard]] inline result<sparse_pattern> read_pattern(const any_tensor& offsets,
                                                         const any_tensor& columns, std::int64_t m,
                                                         std::int64_t n) {
  sparse_pattern p{.rows = m,
                   .columns = n,
                   .offsets = detail::integers(offsets),
                   .places = detail::integers(columns)};
  const auto count = static_cast<std::int64_t>(p.places.size());
  const auto at = [](const std::vector<std::int64_t>& all, std::int64_t i) {
    return all[static_cast<std::size_t>(i)];
  };
  if (p.offsets.front() != 0)
    return detail::bad_pattern(detail::element("offsets", 0, p.offsets.front()) + ", not 0");
  for (std::int64_t i = 0; i < m; ++i) {
    if (at(p.offsets, i + 1) < at(p.offsets, i))
      return detail::bad_pattern(detail::element("offsets", i + 1, at(p.offsets, i + 1)) +
                                 ", less than the one before, " + std::to_string(at(p.offsets, i)));
  }
  if (p.offsets.back() != count)
    return detail::bad_pattern(detail::element("offsets", m, p.offsets.back()) +
                               ", not the number of elements, " + std::to_string(count));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t k = at(p.offsets, i); k < at(p.offsets, i + 1); ++k) {
      if (at(p.places, k) < 0 || at(p.places, k) >= n)
        return detail::bad_pattern(detail::element("columns", k, at(p.places, k)) +
                                   ", not below the number of columns, " + std::to_string(n));
      if (k > at(p.offsets, i) && at(p.places, k) <= at(p.places, k - 1))
        return detail::bad_pattern(detail::element("columns", k, at(p.places, k)) +
                                   ", not above the one before in row " + std::to_string(i) + ", " +
                                   std::to_string(at(p.places, k - 1)));
    }
  }
  return p;
}

}  // namespace troupe::solver
