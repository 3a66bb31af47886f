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
    const std::byte* last = nullptr;
    for (entry& e : all_)
      e.last_end = last = last == nullptr ? e.bytes.end : std::max(last, e.bytes.end);
  }
  /// Calls `found` with each view that has a byte in common with that one, until it returns false.
  template <class Found>
  void each_at(const any_tensor& t, Found&& found) const {
    const view_interval bytes = interval_of(t);
    auto one =
        std::ranges::lower_bound(all_, bytes.end, {}, [](const entry& e) { return e.bytes.begin; });
    while (one != all_.begin()) {
      --one;
      if (one->last_end <= bytes.begin) return;
      if (one->bytes.end > bytes.begin && !found(one->root)) return;
    }
  }

 private:
  struct entry {
    view_interval bytes;
    std::size_t root = 0;
    const std::byte* last_end = nullptr;  // the largest end up to this one
  };
  std::vector<entry> all_;
};

}  // namespace troupe::detail
