#pragma once

#include "gpu/raw/raw.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/graph.hpp>
#include <troupe/troupe.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// Products of 64 × 64 floats, each of the one before: calls of cuBLAS, and requests.
namespace troupe::bench {

inline constexpr std::int64_t n = 64;
inline constexpr std::size_t elements = 4096;

/// A matrix that turns each row's elements round by one place, so that products stay exact.
inline std::vector<float> rotation() {
  std::vector<float> values(elements, 0.0f);
  for (std::size_t i = 0; i < 64; ++i)
    values[i * 64 + (i + 1) % 64] = 1.0f;
  return values;
}
inline std::vector<float> counted() {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i)
    values[i] = static_cast<float>(i);
  return values;
}

class chain_by_hand {
 public:
  chain_by_hand(raw::stream& stream, std::size_t count)
      : stream_(stream), cublas_(stream), factor_(raw::memory::place::device, elements * 4) {
    for (std::size_t i = 0; i <= count; ++i)
      links_.push_back(
          std::make_unique<raw::memory>(raw::memory::place::device, elements * sizeof(float)));
    const std::vector<float> turn = rotation();
    const std::vector<float> first = counted();
    stream_.copy(factor_.address(), turn.data(), elements * sizeof(float));
    stream_.copy(links_[0]->address(), first.data(), elements * sizeof(float));
    stream_.synchronize();
    multiply();  // cuBLAS allocates what it needs outside of the capture
    stream_.synchronize();
    record();
  }
  /// Captures and instantiates it, once more.
  void record() {
    graph_ = std::make_unique<raw::graph>(stream_, [&] { multiply(); });
  }
  void launch() { graph_->launch(stream_); }
  void run() {
    graph_->launch(stream_);
    stream_.synchronize();
  }
  [[nodiscard]] std::vector<float> result() {
    std::vector<float> values(elements);
    stream_.copy(values.data(), links_.back()->address(), elements * sizeof(float));
    stream_.synchronize();
    return values;
  }

 private:
  void multiply() {
    for (std::size_t i = 1; i < links_.size(); ++i)
      cublas_.multiply(n, links_[i - 1]->address(), factor_.address(), links_[i]->address());
  }

  raw::stream& stream_;
  raw::cublas cublas_;
  raw::memory factor_;
  std::vector<std::unique_ptr<raw::memory>> links_;
  std::unique_ptr<raw::graph> graph_;
};

struct chain {
  std::vector<blas::gemm> requests;
  tensor<float> first;
  tensor<float> last;
};

inline chain products(device& gpu, std::size_t count) {
  const auto factor = gpu.tensor<float>({n, n}).value();
  auto x = gpu.tensor<float>({n, n}).value();
  gpu.copy(std::span<const float>(rotation()), factor).get();
  gpu.copy(std::span<const float>(counted()), x).get();
  chain made{.requests = {}, .first = x, .last = x};
  for (std::size_t i = 0; i < count; ++i) {
    made.last = gpu.tensor<float>({n, n}).value();
    made.requests.push_back({.a = x, .b = factor, .c = made.last});
    x = made.last;
  }
  return made;
}

inline request_graph recorded(device& gpu, const chain& c) {
  graph_recorder rec = gpu.record("chain");
  for (const blas::gemm& one : c.requests)
    rec.add(one);
  rec.parameter("first", c.first);
  return std::move(rec).finish().value();
}

inline void send(const device& gpu, const chain& c) {
  for (std::size_t i = 0; i + 1 < c.requests.size(); ++i)
    (void)gpu.tell(c.requests[i]);
  gpu.ask(c.requests.back()).get();
}

}  // namespace troupe::bench
