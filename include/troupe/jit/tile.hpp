#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::jit {

/// How a tile of a tensor is copied by a GPU's copy engine (TMA), for `reads_tile` and
/// `writes_tile`. Lists are in the tensor's order of dimensions, outermost first.
///
/// The tensor has 1 to 5 dimensions of 1 to 2³² elements, the last of stride 1, the others strides
/// of multiples of 16 bytes below 2⁴⁰; its first element lies at a multiple of 16 bytes. Source:
/// CUDA Driver API, cuTensorMapEncodeTiled.
struct tile {
  enum class swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };
  enum class promotion : std::uint8_t { none, bytes_64, bytes_128, bytes_256 };
  enum class fill : std::uint8_t { zeros, nan };

  /// Elements of the tile, 1 to 256 in each dimension; the last dimension has a multiple of 16
  /// bytes, and no more than the swizzle, if there is one.
  std::vector<std::int64_t> box{};
  /// Every n-th element of a dimension, 1 to 8; empty takes all. The last is not looked at by the
  /// copy engine.
  std::vector<std::int64_t> steps{};
  swizzle in_shared_memory = swizzle::none;
  promotion in_cache = promotion::none;
  fill outside = fill::zeros;  ///< of the tensor; NaN for floating types alone

  /// The rules above. \errors `layout_unsupported`, `shape_mismatch`, `invalid_argument`,
  /// `type_mismatch`, each with the value
  [[nodiscard]] TROUPE_EXPORT result<void> check(const any_tensor& t) const;

  /// As numbers: how many dimensions, the three choices, box, steps.
  void write(std::vector<std::int64_t>& to) const;
  /// What `write` has written at the beginning of `from`; nothing where that cannot be.
  [[nodiscard]] static TROUPE_EXPORT std::optional<tile> read(std::span<const std::int64_t> from);
  /// The numbers that `read` would take.
  [[nodiscard]] static std::size_t length(std::span<const std::int64_t> from) noexcept;
};

}  // namespace troupe::jit
