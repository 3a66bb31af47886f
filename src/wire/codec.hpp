#pragma once

#include "wire/layout.hpp"
#include "wire/pools.hpp"

#include <troupe/request/request.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// The encoding of the fields of a request, or of a described reply. Little-endian, unaligned:
/// tensors and fields of varying length in the order of the description, then the values with their
/// layout in the request. A tensor is {rank plus one, type, pool, buffer id, offset, extents,
/// strides}, a null tensor a zero; a list or a text is its length and its elements. The reader
/// trusts nothing: it checks every length, type, rank, pool, enumerator, range and alignment before
/// use.
namespace troupe::wire {

/// The most tensors in one list of a request. A null tensor takes one byte on the wire and many in
/// memory, so the length of the bytes alone is too weak a bound.
inline constexpr std::uint64_t max_list_tensors = 65'536;
/// The most groups in one list, for the same reason.
inline constexpr std::uint64_t max_list_groups = 65'536;

/// The offsets of the parts of a tensor that is present, in bytes after the byte that holds its
/// rank plus one. Its extents follow, then its strides.
struct tensor_layout {
  static constexpr std::size_t type = 0;
  static constexpr std::size_t pool = 1;
  static constexpr std::size_t buffer = 2;
  static constexpr std::size_t offset = 6;
  static constexpr std::size_t extents = 14;

  [[nodiscard]] static constexpr std::size_t strides(int rank) noexcept {
    return extents + static_cast<std::size_t>(rank) * sizeof(std::int64_t);
  }
  [[nodiscard]] static constexpr std::size_t bytes(int rank) noexcept {
    return strides(rank) + static_cast<std::size_t>(rank) * sizeof(std::int64_t);
  }
};

/// The address range of a pool: the same in every process.
struct address_range {
  std::byte* base = nullptr;       ///< null if there is no such pool
  std::uint64_t mapped_bytes = 0;  ///< from `base` on
};

/// By pool number.
using address_ranges = std::array<address_range, pool_count>;

/// Precondition: below `mailbox_header::peers`.
[[nodiscard]] inline address_range range_of_peer(const mailbox_header& in,
                                                 std::uint32_t peer) noexcept {
  const mailbox_header::peer_range& range = in.peer_ranges[peer];
  return {reinterpret_cast<std::byte*>(range.base),  // NOLINT(performance-no-int-to-ptr)
          range.bytes};
}

/// One tensor of a request, as hazards and recovery see it.
struct operand {
  std::uint32_t buffer = 0;
  pool_number pool = device_pool;
  access role{};
  std::uint64_t begin = 0;  ///< bytes from the start of the pool's range
  std::uint64_t end = 0;

  /// Tells the buffers of all pools apart; below 2⁴⁰.
  [[nodiscard]] std::uint64_t buffer_key() const noexcept {
    return std::uint64_t{buffer} << 8 | pool;
  }
};

/// Locates each tensor for the wire, and records its use.
class operand_source {
 public:
  struct place {
    std::uint32_t buffer = 0;
    pool_number pool = device_pool;
    std::uint64_t offset = 0;  ///< the view's first element
  };
  /// Called once for each tensor that is not null.
  [[nodiscard]] virtual result<place> locate(std::string_view field, const any_tensor& t,
                                             access role) = 0;

 protected:
  ~operand_source() = default;
};

/// Writes the fields of `r` into `to` as far as they fit, and returns the bytes that all of them
/// take: if that is more than `to` has, nothing useful was written.
/// A stride that is never used, because its extent is below two, is written as at most
/// `max_elements`.
/// \errors the first failure of `locate`; `size_overflow` for a list above `max_list_tensors`;
/// `invalid_argument` for an enumerator that its enumeration does not have.
[[nodiscard]] result<std::size_t> encode(const value_type& type, const void* r,
                                         std::span<std::byte> to, operand_source& operands);

/// Fills a default-constructed request from its bytes, and lists its operands (earlier ones in the
/// list are dropped). Tensors point into `ranges`.
/// \errors `protocol_violation` with the field and the invalid value.
[[nodiscard]] result<void> decode(const value_type& type, void* r, std::span<const std::byte> bytes,
                                  const address_ranges& ranges, std::vector<operand>& operands);

}  // namespace troupe::wire
