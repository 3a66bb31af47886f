#pragma once

#include "device/local/local_device.hpp"
#include "device/world/world_core.hpp"
#include "forked_worker.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace troupe::kills {

/// The observations of a world.
struct world_sights {
  std::int64_t kills = 0;
  std::int64_t in_part = 0;  ///< among them, those between two instructions of a part
  std::int64_t operations = 0;
};

/// A world of two devices of the real parts, with the real executors of *collective*. Makes a
/// worker, or both, end between any two instructions of a part or of what follows it, the next
/// worker in the repetition, too. No operation fails, and every result is right.
///
/// Without a thread of its own: it calls the devices' turns.
class ranks {
 public:
  static constexpr std::size_t count = 2;

  explicit ranks(std::uint64_t seed);
  ~ranks();
  ranks(const ranks&) = delete;
  ranks& operator=(const ranks&) = delete;

  /// Until so many workers have been killed. \returns what was wrong, or nothing
  [[nodiscard]] std::string outlive(std::int64_t kills);
  [[nodiscard]] const world_sights& seen() const noexcept { return seen_; }

 private:
  using numbers = std::array<any_tensor, count>;  // by rank

  [[nodiscard]] numbers allocate(std::int64_t elements);
  void doom();
  [[nodiscard]] std::string run_one();
  template <class Request>
  [[nodiscard]] std::string run(const numbers& x, const numbers& y);
  [[nodiscard]] std::int64_t workers_lost() const;

  std::mt19937_64 random_;
  operation_table operations_;
  std::array<std::unique_ptr<forked_environment>, count> environments_;
  std::shared_ptr<memory_pool> host_memory_;
  std::vector<std::shared_ptr<local_device>> devices_;
  std::shared_ptr<world_core> world_;
  numbers pieces_, x_, sum_, both_;
  world_sights seen_;
};

}  // namespace troupe::kills
