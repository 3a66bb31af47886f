#pragma once

#include "raw.hpp"

#include <cstdint>
#include <memory>

namespace troupe::bench::raw {

enum class element : std::uint8_t { bf16, e4m3 };

/// A product by cublasLtMatmul as a plain program calls it, described once and then run in a loop:
/// d = a · b, or gelu(a · b + bias), for row-major a [m, k] and d [m, n] (bf16), and column-major b
/// [k, n]. The kernel is the first that cuBLASLt's heuristic proposes, told what Troupe tells it.
class matmul {
 public:
  matmul(stream& on, element type, std::int64_t m, std::int64_t n, std::int64_t k, bool gelu_bias);
  ~matmul();
  matmul(const matmul&) = delete;
  matmul& operator=(const matmul&) = delete;

  /// Addresses are multiples of 256. `bias` is not looked at without one.
  void run(const void* a, const void* b, const void* bias, void* d);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace troupe::bench::raw
