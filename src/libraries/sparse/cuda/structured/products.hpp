#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/sparse/structured.hpp>

#include <cstdint>
#include <optional>

namespace troupe::cuda {

/// cuSPARSELt for one lane, with the plans that it has made. It ends with the lane.
class structured_products {
 public:
  virtual ~structured_products() = default;

  /// The version of the library.
  [[nodiscard]] virtual std::int64_t version() const noexcept = 0;
  /// The bytes of scratch memory for compressing; nothing if the library does not support the
  /// weights.
  [[nodiscard]] virtual std::optional<std::int64_t> scratch_for(const any_tensor& x) = 0;
  [[nodiscard]] virtual result<void> compress(const any_tensor& x, std::byte* to,
                                              std::byte* scratch, cudaStream_t stream) = 0;
  /// Enqueues a product with the weights that are compressed at `compressed`. Returns false, and
  /// enqueues nothing, if the library does not support it. If the request asks for tuning and the
  /// product is of a new kind, it first measures the library's kernels and waits for them.
  [[nodiscard]] virtual result<bool> multiply(const sparse::structured_matmul& r,
                                              const std::byte* compressed, lane& where) = 0;
};

/// Null if cuSPARSELt of the version that Troupe is built for is not installed.
[[nodiscard]] result<structured_products*> structured_products_of(lane& where);

}  // namespace troupe::cuda
