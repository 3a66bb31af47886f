#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/attention/contents.hpp"

namespace troupe::cuda {
/// The lengths, offsets and tables of a request, checked and packed in workspace, with those that
/// the request leaves out and its plan wants.
class checked_contents final : call_frame::step {
 public:
  /// The case outlives it.
  checked_contents(call_frame& c, const attention_case& what);

  /// That of an operand which is among them. After the frame's `begin`.
  [[nodiscard]] std::byte* address(std::size_t operand) const noexcept {
    return addresses_[operand];
  }
  /// They hold all sequences, also empty ones; null where all are whole.
  [[nodiscard]] const std::int32_t* lengths_q() const noexcept { return all_.of_q.checked; }
  [[nodiscard]] const std::int32_t* lengths_kv() const noexcept { return all_.of_kv.checked; }
  /// 1 for a sequence of which something was out of range; null where nothing is looked at.
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
