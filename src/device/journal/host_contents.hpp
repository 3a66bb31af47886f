#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace troupe::journal {

/// Host memory as one device's requests find it: which ranges those in flight are about to write,
/// and which content the journal has told last. Thread-safe.
class host_contents {
 public:
  struct range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  /// Forgets what an earlier request in this slot was to write.
  void forget(std::uint16_t slot) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(writers_, [&](const writer& w) { return w.slot == slot; });
  }
  void will_write(std::uint16_t slot, range r) {
    const std::lock_guard lock(mutex_);
    for (writer& w : writers_)
      w.is_overwritten =
          w.is_overwritten || (w.slot != slot && w.of.begin < r.end && r.begin < w.of.end);
    writers_.push_back({slot, r});
    drop(r);
  }
  /// True if a request that was sent later may have written some of what this one writes there.
  [[nodiscard]] bool is_overwritten(std::uint16_t slot, range r) const noexcept {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(writers_, [&](const writer& w) {
      return w.slot == slot && w.is_overwritten && w.of.begin < r.end && r.begin < w.of.end;
    });
  }
  /// The parts of a range that the program has left as they are: no request in flight writes them.
  [[nodiscard]] std::vector<range> left_by_program(range whole, std::uint16_t reader) const {
    std::vector<range> parts{whole};
    const std::lock_guard lock(mutex_);
    for (const writer& w : writers_) {
      if (w.slot == reader) continue;
      const range r = w.of;
      std::vector<range> rest;
      for (const range& one : parts) {
        // The parts before the write and behind it.
        const range before{one.begin, std::min(one.end, r.begin)};
        const range behind{std::max(one.begin, r.end), one.end};
        if (before.begin < before.end) rest.push_back(before);
        if (behind.begin < behind.end) rest.push_back(behind);
      }
      parts = std::move(rest);
    }
    return parts;
  }
  /// True if the journal has told exactly this already, and nothing since that overlaps it.
  [[nodiscard]] bool knows(std::uint64_t offset,
                           std::span<const std::byte> content) const noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = told_.find(offset);
    return found != told_.end() && found->second.size() == content.size() &&
           std::memcmp(found->second.data(), content.data(), content.size()) == 0;
  }
  void tell(std::uint64_t offset, std::span<const std::byte> content) {
    const std::lock_guard lock(mutex_);
    drop({offset, offset + content.size()});
    if (content.size() > most_told_bytes) return;
    if (told_bytes_ + content.size() > most_all_bytes) {
      told_.clear();
      told_bytes_ = 0;
    }
    told_.emplace(offset, std::vector<std::byte>(content.begin(), content.end()));
    told_bytes_ += content.size();
  }
  void forget_told() noexcept {
    const std::lock_guard lock(mutex_);
    told_.clear();
    told_bytes_ = 0;
  }

 private:
  static constexpr std::size_t most_told_bytes = std::size_t{256} << 10;
  static constexpr std::size_t most_all_bytes = std::size_t{16} << 20;

  struct writer {
    std::uint16_t slot = 0;
    range of{};
    bool is_overwritten = false;
  };

  // With the mutex. Told ranges do not overlap.
  void drop(range r) noexcept {
    auto at = told_.lower_bound(r.begin);
    if (at != told_.begin()) {
      const auto before = std::prev(at);
      if (before->first + before->second.size() > r.begin) at = before;
    }
    while (at != told_.end() && at->first < r.end) {
      told_bytes_ -= at->second.size();
      at = told_.erase(at);
    }
  }

  mutable std::mutex mutex_;
  std::vector<writer> writers_;                           // few
  std::map<std::uint64_t, std::vector<std::byte>> told_;  // by offset
  std::size_t told_bytes_ = 0;
};

}  // namespace troupe::journal
