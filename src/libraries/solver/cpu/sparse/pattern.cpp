#include "libraries/solver/cpu/sparse/pattern.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe::cpu {
namespace {

template <class I>
std::vector<std::int64_t> widened(const any_tensor& t) {
  const auto* const first = t.data<I>();
  return {first, first + t.count()};
}
std::vector<std::int64_t> integers(const any_tensor& t) {
  return t.type() == dtype::i32 ? widened<std::int32_t>(t) : widened<std::int64_t>(t);
}

std::string element(const char* name, std::int64_t at, std::int64_t value) {
  return std::string(name) + "[" + std::to_string(at) + "] is " + std::to_string(value);
}
error bad(std::string message) {
  return {.code = errc::invalid_argument, .message = std::move(message)};
}

}  // namespace

result<sparse_pattern> read_pattern(const any_tensor& offsets, const any_tensor& columns,
                                    std::int64_t m, std::int64_t n) {
  sparse_pattern p{
      .rows = m, .columns = n, .offsets = integers(offsets), .places = integers(columns)};
  const auto count = static_cast<std::int64_t>(p.places.size());
  const auto at = [](const std::vector<std::int64_t>& all, std::int64_t i) {
    return all[static_cast<std::size_t>(i)];
  };
  if (p.offsets.front() != 0) return bad(element("offsets", 0, p.offsets.front()) + ", not 0");
  for (std::int64_t i = 0; i < m; ++i) {
    if (at(p.offsets, i + 1) < at(p.offsets, i))
      return bad(element("offsets", i + 1, at(p.offsets, i + 1)) + ", less than the one before, " +
                 std::to_string(at(p.offsets, i)));
  }
  if (p.offsets.back() != count)
    return bad(element("offsets", m, p.offsets.back()) + ", not the number of elements, " +
               std::to_string(count));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t k = at(p.offsets, i); k < at(p.offsets, i + 1); ++k) {
      if (at(p.places, k) < 0 || at(p.places, k) >= n)
        return bad(element("columns", k, at(p.places, k)) + ", not below the number of columns, " +
                   std::to_string(n));
      if (k > at(p.offsets, i) && at(p.places, k) <= at(p.places, k - 1))
        return bad(element("columns", k, at(p.places, k)) + ", not above the one before in row " +
                   std::to_string(i) + ", " + std::to_string(at(p.places, k - 1)));
    }
  }
  return p;
}

}  // namespace troupe::cpu
