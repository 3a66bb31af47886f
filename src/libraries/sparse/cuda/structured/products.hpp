#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/sparse/structured.hpp>

#include <cstdint>
#include <optional>

namespace troupe::cuda {

/// cuSPARSELt as one lane uses it, with the plans that it has made. It ends with the lane.
class structured_products {
 public:
  virtual ~structured_products() = default;

  /// Of the library.
  [[nodiscard]] virtual std::int64_t version() const noexcept = 0;
  /// Bytes of scratch memory that compressing takes; nothing where the library does not take the
  /// weights.
  [[nodiscard]] virtual std::optional<std::int64_t> scratch_for(const any_tensor& x) = 0;
  [[nodiscard]] virtual result<void> compress(const any_tensor& x, std::byte* to,
                                              std::byte* scratch, cudaStream_t stream) = 0;
  /// Enqueues a product of weights that are compressed at `compressed`. False where the library
  /// does not take it, and nothing is enqueued. Where the request asks for it and the product is of
  /// a new kind, the library's kernels are run and waited for first.
  [[nodiscard]] virtual result<bool> multiply(const sparse::structured_matmul& r,
                                              const std::byte* compressed, lane& where) = 0;
};

/// Null where there is no cuSPARSELt of the version that this is built for.
[[nodiscard]] result<structured_products*> structured_products_of(lane& where);

}  // namespace troupe::cuda
