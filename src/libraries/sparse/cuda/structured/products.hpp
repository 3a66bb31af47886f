#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/sparse/structured.hpp>

#include <cstdint>
#include <optional>

namespace troupe::cuda {

/// cuSPARSELt as one lane uses it, with the plans that it has made. It ends with the lane.
class structured_products {
 public:
  /// What compressing weights takes.
  struct room {
    std::int64_t compressed_bytes = 0;
    std::int64_t scratch_bytes = 0;
  };
  /// A product that the library takes.
  struct plan {
    room weights{};
    std::int64_t workspace_bytes = 0;
  };

  virtual ~structured_products() = default;

  [[nodiscard]] virtual std::int64_t version() const noexcept = 0;
  /// Nothing where the library does not take these weights.
  [[nodiscard]] virtual std::optional<room> room_for(const any_tensor& x) = 0;
  [[nodiscard]] virtual result<void> compress(const any_tensor& x, std::byte* to,
                                              std::byte* scratch, cudaStream_t stream) = 0;
  /// Null where the library does not take the product. Valid until the next is asked for.
  [[nodiscard]] virtual result<const plan*> plan_for(const sparse::structured_matmul& r,
                                                     cudaStream_t stream) = 0;
  /// Enqueues the product with what `compress` has made of its weights.
  [[nodiscard]] virtual result<void> run(const plan& how, const sparse::structured_matmul& r,
                                         const std::byte* compressed, std::byte* workspace,
                                         cudaStream_t stream) = 0;
};

/// Null where there is no cuSPARSELt of the version that this is built for.
[[nodiscard]] result<structured_products*> structured_products_of(lane& where);

}  // namespace troupe::cuda
