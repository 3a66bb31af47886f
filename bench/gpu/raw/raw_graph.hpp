#pragma once

#include "gpu/raw/raw.hpp"

#include <functional>

namespace troupe::bench::raw {

/// What a stream was given, captured once and launched as a CUDA graph.
class graph {
 public:
  graph(stream& on, const std::function<void()>& given);
  ~graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  void launch(stream& on);

 private:
  void* executable_ = nullptr;
};

}  // namespace troupe::bench::raw
