#pragma once

#include "libraries/solver/shared/sparse_pattern.hpp"

#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace troupe::cpu {

/// Known patterns, for all lanes: a solver that has analysed each. A user takes it out; if two
/// lanes use the same pattern at once, the second analyses it for itself.
template <class Solver>
class analyses {
 public:
  struct kept {
    solver::sparse_pattern pattern;
    std::unique_ptr<Solver> solver;
  };

  /// The solver of this pattern; null if there is none.
  [[nodiscard]] std::unique_ptr<Solver> take(const solver::sparse_pattern& pattern) {
    const std::lock_guard held(lock_);
    for (auto one = all_.begin(); one != all_.end(); ++one) {
      if (one->pattern != pattern) continue;
      auto found = std::move(one->solver);
      all_.erase(one);
      return found;
    }
    return nullptr;
  }
  /// Keeps it, as the one used last.
  void keep(solver::sparse_pattern pattern, std::unique_ptr<Solver> solver) {
    std::list<kept> dropped;  // destroyed without the lock
    const std::lock_guard held(lock_);
    all_.push_front({std::move(pattern), std::move(solver)});
    if (all_.size() > most) dropped.splice(dropped.begin(), all_, std::prev(all_.end()));
  }

 private:
  static constexpr std::size_t most = 16;

  std::mutex lock_;
  std::list<kept> all_;  ///< the one used last is the first
};

/// Never destroyed: a lane's thread may still use them when the program's statics end.
template <class Solver>
[[nodiscard]] analyses<Solver>& the_analyses() {
  static analyses<Solver>& one = *new analyses<Solver>;
  return one;
}

}  // namespace troupe::cpu
