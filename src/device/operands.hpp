#pragma once

#include "device/record.hpp"
#include "memory/memory_pool.hpp"
#include "wire/codec.hpp"

#include <string>

namespace troupe {

/// Checks the tensors of a request that is about to be sent, says where they are, and keeps them
/// alive in the request's record.
class outgoing_operands final : public wire::operand_source {
 public:
  outgoing_operands(const memory_pool& device_memory, const memory_pool& host_memory,
                    operand_list& kept) noexcept
      : device_memory_(device_memory), host_memory_(host_memory), kept_(kept) {}

  /// \errors `foreign_buffer`, `stale_buffer`, `frozen_buffer`, `tainted_buffer`, in this order.
  [[nodiscard]] result<place> locate(std::string_view field, any_tensor& t, access role) override;

  /// A tainted buffer is among them that the request overwrites.
  [[nodiscard]] bool overwrites_taint() const noexcept { return overwrites_taint_; }

 private:
  [[nodiscard]] result<void> check_flags(std::string_view field, const kept_operand& operand,
                                         std::uint32_t flags);

  const memory_pool& device_memory_;
  const memory_pool& host_memory_;
  operand_list& kept_;
  bool overwrites_taint_ = false;
};

/// True when a request with these may be run again although it may have run in part: it reads
/// nothing that it writes, neither in one operand nor through two that overlap.
[[nodiscard]] bool safe_to_repeat(const operand_list& operands);
/// The request that made an operand undefined which these read; empty when none is.
[[nodiscard]] std::string tainted_operand(const operand_list& operands);
/// Marks what these write as undefined because of that request.
void taint_outputs(const operand_list& operands, std::string_view request, std::uint64_t ticket);
/// Forgets the taints that these overwrite.
void clear_overwritten_taints(const operand_list& operands);

}  // namespace troupe
