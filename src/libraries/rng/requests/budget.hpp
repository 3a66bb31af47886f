#pragma once

#include <troupe/rng/generator.hpp>
#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>

/// How many words of 32 bits an element takes, whatever its value turns out to be: so element i of
/// a request depends on the request's place and on i alone. Both backends draw by these numbers,
/// and `consumes` counts by them.
namespace troupe::rng::budget {

/// A number made of as many bits as the type has.
[[nodiscard]] constexpr std::size_t real(dtype type) noexcept {
  return static_cast<std::size_t>(size_of(type) / 4);
}
/// An integer of a range: twice the bits that its type has, 64 at least.
[[nodiscard]] constexpr std::size_t integer(dtype type) noexcept {
  return size_of(type) == 8 ? 4 : 2;
}
/// Words compared with a threshold of f64.
inline constexpr std::size_t choice = 2;
/// Words that seed the rejections of one element.
inline constexpr std::size_t ticket = 4;
/// Words that permutations sort by.
inline constexpr std::size_t sort_key = 2;

}  // namespace troupe::rng::budget

namespace troupe::rng {

/// Coordinates of one point: the last extent, or 1 for a tensor of rank 0 or 1.
[[nodiscard]] inline std::int64_t dimensions_of(const any_tensor& to) noexcept {
  return to.rank() < 2 ? 1 : to.extent(to.rank() - 1);
}

/// The stream consumed by `words` an element, in the unit of `position::offset`.
[[nodiscard]] inline std::int64_t consumed(const position& from, const any_tensor& to,
                                           std::size_t words) noexcept {
  const std::int64_t count = to.count();
  if (!is_quasi(from.type)) return count * static_cast<std::int64_t>(words);
  return count == 0 ? 0 : count / dimensions_of(to);
}

}  // namespace troupe::rng
