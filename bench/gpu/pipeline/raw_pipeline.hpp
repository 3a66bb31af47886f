#pragma once

#include <cstddef>
#include <memory>

namespace troupe::bench::raw {

/// Products c = x · w of square matrices of floats, several at once: a stream for copies in, one
/// for products, one for copies out, with events between them.
class pipeline {
 public:
  /// `w` has n² floats.
  pipeline(int n, int in_flight, const float* w);
  ~pipeline();
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  /// Takes `count` matrices from `from` and puts the products to `to`: item i from and to place i
  /// mod `slots`, of n² floats each. Both are pinned memory. Returns when all are there.
  void run(const float* from, float* to, int slots, int count);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe::bench::raw
