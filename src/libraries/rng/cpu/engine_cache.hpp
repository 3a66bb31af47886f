#pragma once

#include "libraries/rng/cpu/engines.hpp"

#include <cstdint>
#include <deque>
#include <mutex>

namespace troupe::cpu {

/// Mersenne twisters that requests have left standing. They cannot jump, so a stream that goes on
/// takes over the one that stands nearest before its place. Only saves time: a fresh one, which
/// discards all that comes before, gives the same words.
template <class Engine>
class engine_cache {
 public:
  /// An engine that has drawn `offset` words.
  Engine take(std::uint64_t seed, std::uint64_t offset) {
    entry found = nearest(seed, offset);
    found.engine.discard(offset - found.offset);
    return found.engine;
  }
  /// Keeps one that has drawn `offset` words.
  void put(std::uint64_t seed, std::uint64_t offset, const Engine& engine) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() == most) entries_.pop_front();
    entries_.push_back({seed, offset, engine});
  }

 private:
  struct entry {
    std::uint64_t seed;
    std::uint64_t offset;
    Engine engine;
  };

  static Engine fresh(std::uint64_t seed) {
    // As the standard's, where 32 bits hold the seed.
    if (seed >> 32 == 0) return Engine(static_cast<typename Engine::result_type>(seed));
    std::seed_seq sequence{static_cast<std::uint32_t>(seed),
                           static_cast<std::uint32_t>(seed >> 32)};
    return Engine(sequence);
  }

  entry nearest(std::uint64_t seed, std::uint64_t offset) {
    {
      const std::lock_guard lock(mutex_);
      auto best = entries_.end();
      for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        const bool usable = it->seed == seed && it->offset <= offset;
        if (usable && (best == entries_.end() || it->offset > best->offset)) best = it;
      }
      if (best != entries_.end()) {
        entry taken = *best;
        entries_.erase(best);
        return taken;
      }
    }
    return {seed, 0, fresh(seed)};
  }

  static constexpr std::size_t most = 16;

  std::mutex mutex_;  // guards entries_, which any lane's thread takes from
  std::deque<entry> entries_;
};

}  // namespace troupe::cpu
