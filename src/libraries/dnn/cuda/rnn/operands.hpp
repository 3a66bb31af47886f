#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"

#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cuda::rnn {

/// Operands without gaps, as cuDNN takes them: aligned. Others are copied to workspace and back.
class operands {
 public:
  /// The number of the operand. Before the workspace is there.
  std::size_t add(const any_tensor& t, use how, call_frame& c) { return add(t, how, 16, c); }
  /// Of a reserve: cuDNN lays it out from its address on, so that a copy would be another one.
  std::size_t add_reserve(const any_tensor& t, use how, call_frame& c) {
    return add(t, how, 256, c);
  }
  /// Once the frame has begun: copies what is read.
  [[nodiscard]] result<void> begin(cudaStream_t stream);
  /// Adds where they lie.
  void write(std::vector<std::uint64_t>& words) const;
  /// Null for what is not given.
  [[nodiscard]] std::byte* at(std::size_t number) const noexcept { return all_[number].address; }
  /// Copies what was written.
  [[nodiscard]] result<void> end(cudaStream_t stream) const;

 private:
  struct one {
    std::byte* given = nullptr;
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    frame_array<std::byte> copy{};
    bool staged = false;
    use how{};
  };
  std::size_t add(const any_tensor& t, use how, std::uintptr_t alignment, call_frame& c);

  std::vector<one> all_;
};

[[nodiscard]] result<void> enqueue_copy(std::byte* to, const std::byte* from, std::size_t bytes,
                                        cudaStream_t stream);
[[nodiscard]] result<void> enqueue_zeros(std::byte* to, std::size_t bytes, cudaStream_t stream);

}  // namespace troupe::cuda::rnn
