#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <span>
#include <unordered_map>
#include <utility>

namespace troupe {

/// All inputs of a plan, as at most `Capacity` numbers in a fixed order.
template <std::size_t Capacity>
class number_key {
 public:
  void add(std::int64_t number) noexcept { numbers_[used_++] = number; }

  [[nodiscard]] std::span<const std::int64_t> numbers() const noexcept {
    return {numbers_.data(), used_};
  }

  bool operator==(const number_key&) const = default;

  struct hash {
    std::size_t operator()(const number_key& key) const noexcept {
      constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // the golden ratio: it spreads low bits
      std::uint64_t mixed = 0;
      for (std::size_t i = 0; i < key.used_; ++i)
        mixed = std::rotl(mixed * odd, 29) ^ static_cast<std::uint64_t>(key.numbers_[i]);
      return mixed * odd;
    }
  };

 private:
  std::array<std::int64_t, Capacity> numbers_{};
  std::size_t used_ = 0;
};

/// The values used last: at most `most`, and if they exceed `most_bytes`, one. Used by one thread
/// at a time.
template <class Key, class Value, class Hash>
class lru_cache {
 public:
  explicit lru_cache(std::size_t most,
                     std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max())
      : most_(most), most_bytes_(most_bytes) {}

  /// The value of `key`, which becomes the one used last; null if there is none. Valid until the
  /// next `add`.
  [[nodiscard]] Value* find(const Key& key) {
    // A loop asks for the same one again.
    if (!kept_.empty() && kept_.front().key == key) {
      ++hits_;
      return &kept_.front().value;
    }
    const auto found = places_.find(key);
    if (found == places_.end()) {
      ++misses_;
      return nullptr;
    }
    ++hits_;
    kept_.splice(kept_.begin(), kept_, found->second);
    return &found->second->value;
  }

  /// Keeps a value that `find` has not found, and drops the least recently used ones.
  Value& add(const Key& key, Value value, std::int64_t bytes = 0) {
    kept_.push_front({key, std::move(value), bytes});
    places_.emplace(key, kept_.begin());
    bytes_ += bytes;
    while (kept_.size() > 1 && (kept_.size() > most_ || bytes_ > most_bytes_)) {
      bytes_ -= kept_.back().bytes;
      places_.erase(kept_.back().key);
      kept_.pop_back();
    }
    return kept_.front().value;
  }

  /// Drops the value of `key`, if there is one.
  void erase(const Key& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return;
    bytes_ -= found->second->bytes;
    kept_.erase(found->second);
    places_.erase(found);
  }

  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }
  /// How often `find` has found a value, and how often not.
  [[nodiscard]] std::uint64_t hits() const noexcept { return hits_; }
  [[nodiscard]] std::uint64_t misses() const noexcept { return misses_; }

 private:
  struct entry {
    Key key;
    Value value;
    std::int64_t bytes;
  };
  std::size_t most_;
  std::int64_t most_bytes_;
  std::list<entry> kept_;  // the one used last first
  std::unordered_map<Key, typename std::list<entry>::iterator, Hash> places_;
  std::int64_t bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace troupe
