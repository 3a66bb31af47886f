#pragma once

#include "backend/cuda/context/lane.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/attention/contents.hpp"

namespace troupe::cuda {
/// The lengths, offsets and tables of a request, checked and packed in workspace, with those that
/// the request leaves out and its plan wants.
class checked_contents {
 public:
  /// Adds what it needs to a piece of workspace. The case outlives it.
  checked_contents(const attention_case& what, pieces& workspace);

  [[nodiscard]] result<void> enqueue(std::byte* workspace, cudaStream_t stream);
  /// That of an operand which is among them. After `enqueue`.
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

  const attention_case& what_;
  contents::sequence_contents all_;
  std::size_t begin_ = 0;
  std::array<std::byte*, number::operand_count> addresses_{};
};

}  // namespace troupe::cuda
