#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/attention/contents.hpp"

namespace troupe::cuda {
/// The lengths, offsets and page tables of a request, checked and packed in workspace, including
/// those that the plan needs and the request leaves out.
class checked_contents final : call_frame::step {
 public:
  /// The case must outlive it.
  checked_contents(call_frame& c, const attention_case& what);

  /// The address of one of these operands. Call it after the frame's `begin`.
  [[nodiscard]] std::byte* address(std::size_t operand) const noexcept {
    return addresses_[operand];
  }
  /// The lengths of all sequences, including empty ones; null if all have full length.
  [[nodiscard]] const std::int32_t* lengths_q() const noexcept { return all_.of_q.checked; }
  [[nodiscard]] const std::int32_t* lengths_kv() const noexcept { return all_.of_kv.checked; }
  /// 1 for a sequence with anything out of range; null if nothing is checked.
  [[nodiscard]] const std::int32_t* wrong() const noexcept { return all_.wrong; }

 private:
  using number = attention_case::operand_number;

  result<void> before(lane& where) override;

  const attention_case& what_;
  contents::sequence_contents all_;
  frame_array<std::byte> memory_;
  std::array<std::byte*, number::operand_count> addresses_{};
};

}  // namespace troupe::cuda
