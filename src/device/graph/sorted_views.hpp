#pragma once

#include <troupe/tensor/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace troupe::detail {

/// The bytes from a view's first to its last.
struct view_interval {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};
[[nodiscard]] inline view_interval interval_of(const any_tensor& t) noexcept {
  const auto reach = t.reach();
  return {t.address() + reach.begin, t.address() + reach.end};
}

[[nodiscard]] inline bool contains(const any_tensor& whole, const any_tensor& part) noexcept {
  const view_interval outer = interval_of(whole);
  const view_interval inner = interval_of(part);
  return whole.space() == part.space() && outer.begin <= inner.begin && inner.end <= outer.end;
}

/// Views by their beginnings.
class sorted_views {
 public:
  void add(std::size_t root, const any_tensor& t) {
    const view_interval bytes = interval_of(t);
    if (bytes.begin != bytes.end) all_.push_back({bytes, root, nullptr});
  }
  void sort() {
    std::ranges::sort(all_, {}, [](const entry& e) { return e.bytes.begin; });
    note_ends(0, all_.size());
  }
  /// Calls `found` with each view that has a byte in common with that one, until it returns false:
  /// those that begin last first. A view of all memory costs the others nothing.
  template <class Found>
  void each_at(const any_tensor& t, Found&& found) const {
    (void)visit(0, all_.size(), interval_of(t), found);
  }

 private:
  struct entry {
    view_interval bytes;
    std::size_t root = 0;
    const std::byte* last_end = nullptr;  // the largest end in the subtree
  };

  /// The sorted views are a tree: the root of a range is its middle, with the ranges before and
  /// behind.
  const std::byte* note_ends(std::size_t from, std::size_t to) {
    if (from == to) return nullptr;
    const std::size_t middle = from + (to - from) / 2;
    entry& one = all_[middle];
    one.last_end = std::max({one.bytes.end, note_ends(from, middle), note_ends(middle + 1, to)});
    return one.last_end;
  }
  template <class Found>
  bool visit(std::size_t from, std::size_t to, const view_interval& bytes, Found& found) const {
    if (from == to) return true;
    const std::size_t middle = from + (to - from) / 2;
    const entry& one = all_[middle];
    if (one.last_end <= bytes.begin) return true;
    if (one.bytes.begin < bytes.end) {
      if (!visit(middle + 1, to, bytes, found)) return false;
      if (one.bytes.end > bytes.begin && !found(one.root)) return false;
    }
    return visit(from, middle, bytes, found);
  }
  std::vector<entry> all_;
};

}  // namespace troupe::detail
