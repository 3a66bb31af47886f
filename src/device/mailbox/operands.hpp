#pragma once

#include "device/mailbox/record.hpp"
#include "memory/memory_pool.hpp"
#include "wire/codec.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Checks the tensors of a request before it is sent, locates them, and keeps them alive in the
/// request's record.
class checked_operands : public wire::operand_source {
 public:
  /// For a request of this type.
  checked_operands(const request_type& of, const memory_pool& device_memory,
                   memory_pool& host_memory, operand_list& kept) noexcept
      : of_(of), device_memory_(device_memory), host_memory_(host_memory), kept_(kept) {}

  /// \errors `foreign_buffer`, `stale_buffer`, `frozen_buffer`, `tainted_buffer`, checked in this
  /// order; for the table of a bound set, those of `bound_sets::use`
  [[nodiscard]] result<place> locate(std::string_view field, const any_tensor& t,
                                     access role) override;

  /// True if any operand is tainted or may become tainted.
  [[nodiscard]] bool watched() const noexcept { return watched_; }

 protected:
  ~checked_operands() = default;
  /// A tensor in memory that is neither the device's nor the host's, or is in none.
  [[nodiscard]] virtual result<place> elsewhere(std::string_view field, const any_tensor& t,
                                                access role);
  /// Only keeps the buffer alive.
  void keep(const detail::buffer_ref& buffer) {
    kept_.add({.buffer = buffer, .role = access::read, .where = {}});
  }

 private:
  [[nodiscard]] result<void> check_flags(std::string_view field, const kept_operand& operand,
                                         std::uint32_t flags);

  const request_type& of_;
  const memory_pool& device_memory_;
  memory_pool& host_memory_;
  operand_list& kept_;
  bool watched_ = false;
};

/// The memory of other devices that a device's workers map. Any thread.
class peer_memory {
 public:
  virtual ~peer_memory() = default;
  /// The number of a peer's pool; 0 if it is no peer.
  [[nodiscard]] virtual wire::pool_number number_of(const memory_pool& peer) const = 0;
  /// Maps the memory of a buffer of that pool, to be read, unless it is mapped. That counts as a
  /// change of this device's memory. The buffer is in use.
  virtual void reach(const detail::buffer& of, wire::pool_number pool) = 0;
};

/// The operands of a request for one device, which names no tensor of its peers.
class outgoing_operands final : public checked_operands {
 public:
  using checked_operands::checked_operands;
};

/// The operands of the part of a request for several devices, which also names tensors of its
/// peers. They are only kept alive; the parts of the peers check them.
class part_operands final : public checked_operands {
 public:
  part_operands(const request_type& of, const memory_pool& device_memory, memory_pool& host_memory,
                operand_list& kept, peer_memory& peers, bool reads_outputs) noexcept
      : checked_operands(of, device_memory, host_memory, kept),
        peers_(peers),
        reads_outputs_(reads_outputs) {}

 private:
  [[nodiscard]] result<place> elsewhere(std::string_view field, const any_tensor& t,
                                        access role) override;

  peer_memory& peers_;
  const bool reads_outputs_;  // those of peers
};

/// True if a request with these operands may run again after it may have run in part: it reads
/// nothing that it writes, neither through one operand nor through two that overlap, unless it
/// overwrites that first.
[[nodiscard]] bool safe_to_repeat(const request_type& type, const operand_list& operands);
/// The bytes whose content a request reads through an operand: all of them, unless it is of a type
/// that overwrites first (`graph::overwrites_first`). In order.
[[nodiscard]] std::vector<footprint> read_through(const kept_operand& operand,
                                                  const request_type& type,
                                                  const operand_list& operands);
/// True if one of two requests writes memory that the other one uses.
[[nodiscard]] bool in_conflict(const operand_list& one, const operand_list& other);
/// The pool that a buffer belongs to. Every buffer that a request may name belongs to one.
[[nodiscard]] memory_pool& pool_of(const kept_operand& operand) noexcept;

}  // namespace troupe
