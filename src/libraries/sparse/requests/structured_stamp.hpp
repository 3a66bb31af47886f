#pragma once

#include <troupe/tensor/tensor.hpp>

#include <cstdint>

/// 2:4 sparsity, for requests and both backends.
namespace troupe::sparse {

/// Elements of which two at most are not zero.
inline constexpr std::int64_t structured_group = 4;
inline constexpr std::int64_t structured_alignment = 16;

/// The first bytes of the result of `structured_compress`: its source, and its maker.
struct structured_stamp {
  std::uint64_t magic = 0x74726f75'70653234ULL;
  std::int64_t maker = 0;  ///< version of cuSPARSELt; 0 where nothing was compressed
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t type = 0;

  structured_stamp() = default;
  /// The stamp of weights x.
  structured_stamp(const any_tensor& x, std::int64_t by) noexcept
      : maker(by),
        rows(x.extent(0)),
        columns(x.extent(1)),
        row_stride(x.stride(0)),
        column_stride(x.stride(1)),
        type(static_cast<std::int64_t>(x.type())) {}

  bool operator==(const structured_stamp&) const = default;
};
/// The offset of the data behind the stamp.
inline constexpr std::int64_t structured_stamp_bytes = 256;
static_assert(sizeof(structured_stamp) <= structured_stamp_bytes);

}  // namespace troupe::sparse
