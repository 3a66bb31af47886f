#pragma once

#include "device/mailbox/record.hpp"
#include "memory/memory_pool.hpp"
#include "wire/codec.hpp"

#include <string>

namespace troupe {

/// Checks the tensors of a request before it is sent, locates them, and keeps them alive in the
/// request's record.
class outgoing_operands final : public wire::operand_source {
 public:
  outgoing_operands(const memory_pool& device_memory, memory_pool& host_memory,
                    operand_list& kept) noexcept
      : device_memory_(device_memory), host_memory_(host_memory), kept_(kept) {}

  /// \errors `foreign_buffer`, `stale_buffer`, `frozen_buffer`, `tainted_buffer`, checked in this
  /// order; for the table of a bound set, those of `bound_sets::use`
  [[nodiscard]] result<place> locate(std::string_view field, const any_tensor& t,
                                     access role) override;

  /// True if any operand is tainted or may become tainted.
  [[nodiscard]] bool watched() const noexcept { return watched_; }

 private:
  [[nodiscard]] result<void> check_flags(std::string_view field, const kept_operand& operand,
                                         std::uint32_t flags);

  const memory_pool& device_memory_;
  memory_pool& host_memory_;
  operand_list& kept_;
  bool watched_ = false;
};

/// True if a request with these operands may run again after it may have run in part: it reads
/// nothing that it writes, neither through one operand nor through two that overlap.
[[nodiscard]] bool safe_to_repeat(const operand_list& operands);
/// True if one of two requests writes memory that the other one uses.
[[nodiscard]] bool in_conflict(const operand_list& one, const operand_list& other);
/// The pool that a buffer belongs to. Every buffer that a request may name belongs to one.
[[nodiscard]] memory_pool& pool_of(const kept_operand& operand) noexcept;

}  // namespace troupe
