#pragma once

#include "backend/lru_cache.hpp"
#include "libraries/tensors/shared/program.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace troupe::cpu {

/// The programs that lanes met last. Only saves time: to plan a contraction takes up to 80 µs.
class known_programs {
 public:
  /// The program with this key: a known one, or what `make` makes.
  template <class Make>
  [[nodiscard]] std::shared_ptr<const tensors::program> of(const std::string& key, Make make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto* const found = kept_.find(key)) return *found;
    }
    auto made = std::make_shared<const tensors::program>(make());
    const std::lock_guard lock(mutex_);
    // Another lane may have made it meanwhile.
    if (const auto* const found = kept_.find(key)) return *found;
    return kept_.add(key, std::move(made));
  }

 private:
  static constexpr std::size_t most = 512;

  std::mutex mutex_;  // guards kept_, which any lane's thread takes from
  lru_cache<std::string, std::shared_ptr<const tensors::program>, std::hash<std::string>> kept_{
      most};
};

/// Those of the worker.
[[nodiscard]] inline known_programs& programs_of_worker() {
  static known_programs all;
  return all;
}

}  // namespace troupe::cpu
