#pragma once

#include "jit/client/digest_hash.hpp"

#include <troupe/jit/compiler.hpp>
#include <troupe/jit/digest.hpp>

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace troupe::jit {

/// Binaries by their keys, bounded by their bytes; the least recently used goes first. Used by one
/// thread at a time.
class memory_cache {
 public:
  explicit memory_cache(std::uint64_t most_bytes) noexcept : most_bytes_(most_bytes) {}

  [[nodiscard]] std::optional<binary> find(const digest& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, place->second);
    return place->second->second;
  }

  void keep(const digest& key, const binary& what) {
    const std::uint64_t bytes = size_of(what);
    if (bytes > most_bytes_ || places_.contains(key)) return;
    entries_.emplace_front(key, what);
    places_.emplace(key, entries_.begin());
    bytes_ += bytes;
    while (bytes_ > most_bytes_) {
      bytes_ -= size_of(entries_.back().second);
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
  }

 private:
  using entry = std::pair<digest, binary>;

  static std::uint64_t size_of(const binary& what) noexcept {
    std::uint64_t bytes = sizeof(entry) + what.image.size() + what.log.size();
    for (const lowered_name& one : what.names)
      bytes += sizeof(one) + one.expression.size() + one.lowered.size();
    return bytes;
  }

  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::list<entry> entries_;  // used last first
  std::unordered_map<digest, std::list<entry>::iterator, digest_hash> places_;
};

}  // namespace troupe::jit
