#pragma once

#include <random>
#include <vector>

namespace troupe::bench {

/// Moves the threads of this program and of its workers between processors. The processors of a
/// virtual machine differ, since some share theirs with neighbours, and a busy thread stays on one
/// for
/// seconds: comparing two threads where they happen to run compares two processors. The destructor
/// lets all run anywhere again.
class placement {
 public:
  placement();
  ~placement();
  placement(const placement&) = delete;
  placement& operator=(const placement&) = delete;

  /// Puts all of them on the same half of the processors, another one each time. If there are too
  /// few processors to choose from, nothing moves.
  void move();
  /// Puts this thread on a processor and all workers on another one, and swaps them the next time:
  /// so this thread's work, and a worker's work while this thread waits, are both done on either.
  /// If there is one processor, nothing moves.
  void trade();

 private:
  std::vector<int> all_;
  bool traded_ = true;
  std::mt19937 random_{1};
};

}  // namespace troupe::bench
