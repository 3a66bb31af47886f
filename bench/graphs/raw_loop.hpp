#pragma once

#include "gpu/raw/raw.hpp"

#include <functional>
#include <memory>

namespace troupe::bench::raw {

/// A CUDA graph with a loop, made by hand: a kernel that counts rounds, and a conditional node
/// whose body is some captured work.
class loop {
 public:
  loop(stream& on, const std::function<void()>& work, int rounds);
  ~loop();
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  void launch(stream& on);

 private:
  memory left_;
  void* graph_ = nullptr;
  void* executable_ = nullptr;
};

}  // namespace troupe::bench::raw
