#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::jit {

/// How a GPU's copy engine (TMA) copies a tile of a tensor, for `reads_tile` and `writes_tile`.
/// Lists are in the order of the tensor's dimensions, outermost first.
///
/// The tensor has 1 to 5 dimensions of 1 to 2³² elements. The last dimension has stride 1. The
/// other strides are multiples of 16 bytes below 2⁴⁰ bytes. The address of the first element is a
/// multiple of 16 bytes. Source: CUDA Driver API, cuTensorMapEncodeTiled.
struct tile {
  enum class swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };
  enum class promotion : std::uint8_t { none, bytes_64, bytes_128, bytes_256 };
  enum class fill : std::uint8_t { zeros, nan };

  /// Elements of the tile, 1 to 256 in each dimension. The last dimension is a multiple of 16
  /// bytes, and not larger than the swizzle, if there is one.
  std::vector<std::int64_t> box{};
  /// Takes every n-th element of a dimension, 1 to 8; empty takes all. The copy engine ignores the
  /// value for the last dimension.
  std::vector<std::int64_t> steps{};
  swizzle in_shared_memory = swizzle::none;
  promotion in_cache = promotion::none;
  fill outside = fill::zeros;  ///< for elements outside the tensor; NaN only for floating types

  /// The rules above. \errors `layout_unsupported`, `shape_mismatch`, `invalid_argument`,
  /// `type_mismatch`, each with the value
  [[nodiscard]] TROUPE_EXPORT result<void> check(const any_tensor& t) const;

  /// Encodes it as numbers: the number of dimensions, the three choices, box, steps.
  void write(std::vector<std::int64_t>& to) const;
  /// Decodes what `write` has written at the beginning of `from`; empty if it is invalid.
  [[nodiscard]] static TROUPE_EXPORT std::optional<tile> read(std::span<const std::int64_t> from);
  /// The number of values that `read` would consume.
  [[nodiscard]] static std::size_t length(std::span<const std::int64_t> from) noexcept;
};

}  // namespace troupe::jit
