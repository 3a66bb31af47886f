#pragma once

#include <troupe/serving/terms.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace troupe::serving {

/// A waiting item among those of its lane.
struct waiting_entry {
  time_point deadline{};
  std::uint64_t order = 0;
  std::uint32_t slot = 0;
  auto operator<=>(const waiting_entry&) const = default;
};

class fair_order;

/// The place of a lane among others: by its tag, then by its first item.
struct seat {
  double tag = 0;
  waiting_entry head{};
  fair_order* in = nullptr;
  std::size_t at = 0;  ///< in the heap

  [[nodiscard]] bool before(const seat& other) const noexcept {
    return tag != other.tag ? tag < other.tag : head < other.head;
  }
};

/// Seats in a heap in which each knows its place, so that any of them can be moved or removed in
/// logarithmic time. Nothing is allocated for a seat that has been in it before.
class fair_order {
 public:
  /// The one before all others; null if there is none.
  [[nodiscard]] const seat* first() const noexcept { return all_.empty() ? nullptr : all_.front(); }

  /// Takes the seat in, or moves it to where its new key says.
  void put(seat& one) {
    if (one.in == nullptr) {
      one.in = this;
      one.at = all_.size();
      all_.push_back(&one);
    }
    if (!rise(one)) sink(one);
  }
  void remove(seat& one) noexcept {
    seat* const last = all_.back();
    all_.pop_back();
    one.in = nullptr;
    if (last == &one) return;
    set(one.at, last);
    if (!rise(*last)) sink(*last);
  }

 private:
  void set(std::size_t at, seat* one) noexcept {
    all_[at] = one;
    one->at = at;
  }
  bool rise(seat& one) noexcept {
    const std::size_t from = one.at;
    std::size_t at = from;
    while (at > 0 && one.before(*all_[(at - 1) / 2])) {
      set(at, all_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    set(at, &one);
    return at != from;
  }
  void sink(seat& one) noexcept {
    std::size_t at = one.at;
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= all_.size()) break;
      if (child + 1 < all_.size() && all_[child + 1]->before(*all_[child])) ++child;
      if (!all_[child]->before(one)) break;
      set(at, all_[child]);
      at = child;
    }
    set(at, &one);
  }

  std::vector<seat*> all_;
};

}  // namespace troupe::serving
