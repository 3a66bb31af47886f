#pragma once

#include "journal/journal_file.hpp"
#include "wire/codec.hpp"

#include <troupe/device/device.hpp>
#include <troupe/request/any_request.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace troupe::journal {

/// The memory that the requests of one device use, in pieces that no view crosses; and the memory
/// in its place where they are replayed. Tensors that were in the same place one after the other
/// are so again.
class footprint {
 public:
  /// A request whose tensors lie in no memory.
  struct decoded {
    any_request request;
    std::vector<wire::operand> operands;
  };

  explicit footprint(const noted_device& of);

  /// \errors those of `wire::decode`
  [[nodiscard]] result<decoded> decode(const request_type& type,
                                       std::span<const std::byte> frame) const;
  /// Adds what a request uses. Before `allocate`.
  void add(const std::vector<wire::operand>& operands);
  void add(const bytes_note& bytes);
  /// \errors those of `device::allocate`
  [[nodiscard]] result<void> allocate(device& on);
  /// Moves the tensors of a request into the replaying device's memory.
  /// \errors `invalid_argument`
  [[nodiscard]] result<void> move(const request_type& type, any_request& request) const;
  /// Bytes of the replaying device's memory. \errors `invalid_argument` outside of what was added
  [[nodiscard]] result<any_tensor> bytes_at(std::uint8_t pool, std::uint64_t offset,
                                            std::uint64_t bytes) const;
  /// The place of a tensor of a decoded request, before it is moved.
  struct place {
    std::uint8_t pool = 0;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] place place_of(const any_tensor& t) const noexcept;

 private:
  struct piece {
    std::uint64_t end = 0;
    detail::buffer_ref memory{};
    std::uint64_t shift = 0;  // from the start of the memory to the first byte
  };
  using pieces = std::map<std::uint64_t, piece>;  // by their begin

  static void add(pieces& to, std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] result<any_tensor> moved(const any_tensor& t) const;

  wire::address_ranges ranges_{};
  pieces device_;
  pieces host_;
};

}  // namespace troupe::journal
