#include "wire/byte_ranges.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

namespace troupe::wire {
namespace {

/// Joins each range with the one before it if `belong` says so.
template <class Belong>
void unite(std::vector<byte_range>& sorted, Belong belong) {
  std::size_t kept = 0;
  for (const byte_range& next : sorted) {
    if (kept > 0 && sorted[kept - 1].buffer == next.buffer && belong(sorted[kept - 1], next)) {
      sorted[kept - 1].end = std::max(sorted[kept - 1].end, next.end);
    } else {
      sorted[kept++] = next;
    }
  }
  sorted.resize(kept);
}

}  // namespace

void join(std::vector<byte_range>& ranges) {
  std::erase_if(ranges, [](const byte_range& r) { return r.begin >= r.end; });
  std::ranges::sort(ranges, std::less<>(),
                    [](const byte_range& r) { return std::tie(r.buffer, r.begin); });
  unite(ranges,
        [](const byte_range& left, const byte_range& right) { return right.begin <= left.end; });
}

void coarsen(std::vector<byte_range>& joined, std::size_t most) {
  /// The gaps of a buffer that stay: all wider ones, and the first so many of this width.
  struct rule {
    std::uint64_t buffer;
    std::uint64_t width;
    std::size_t as_wide;
  };
  std::vector<rule> rules;
  std::vector<std::uint64_t> gaps;
  for (auto first = joined.begin(); first != joined.end();) {
    const auto last = std::find_if(first, joined.end(),
                                   [&](const byte_range& r) { return r.buffer != first->buffer; });
    if (static_cast<std::size_t>(last - first) > most) {
      gaps.clear();
      for (auto right = first + 1; right != last; ++right)
        gaps.push_back(right->begin - (right - 1)->end);
      // `most` less one gaps stay; the next in width is closed, and all narrower ones.
      const auto widest_to_go = gaps.begin() + static_cast<std::ptrdiff_t>(most - 1);
      std::ranges::nth_element(gaps, widest_to_go, std::greater<>());
      const auto as_wide = std::count(gaps.begin(), widest_to_go, *widest_to_go);
      rules.push_back({first->buffer, *widest_to_go, static_cast<std::size_t>(as_wide)});
    }
    first = last;
  }
  if (rules.empty()) return;
  auto current = rules.begin();
  unite(joined, [&](const byte_range& left, const byte_range& right) {
    while (current != rules.end() && current->buffer < right.buffer)
      ++current;
    if (current == rules.end() || current->buffer != right.buffer) return false;
    const std::uint64_t gap = right.begin - left.end;
    if (gap != current->width) return gap < current->width;
    if (current->as_wide == 0) return true;
    --current->as_wide;
    return false;
  });
}

bool meet(std::span<const byte_range> one, std::span<const byte_range> other) noexcept {
  auto a = one.begin();
  auto b = other.begin();
  while (a != one.end() && b != other.end()) {
    if (a->buffer == b->buffer && a->begin < b->end && b->begin < a->end) return true;
    // The one that ends first meets nothing later in the other list.
    if (std::tie(a->buffer, a->end) < std::tie(b->buffer, b->end)) {
      ++a;
    } else {
      ++b;
    }
  }
  return false;
}

}  // namespace troupe::wire
