#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"

#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cuda::rnn {

/// Operands in the layout that cuDNN needs: dense and aligned. Others are copied to workspace and
/// back.
class operands {
 public:
  /// Returns the number of the operand. Call it before the workspace is allocated.
  std::size_t add(const any_tensor& t, use how, call_frame& c) { return add(t, how, 16, c); }
  /// Adds a reserve. cuDNN's layout in it depends on its address, so a copy would not be
  /// equivalent.
  std::size_t add_reserve(const any_tensor& t, use how, call_frame& c) {
    return add(t, how, 256, c);
  }
  /// Copies the operands that are read. Call it once the frame has begun.
  [[nodiscard]] result<void> begin(cudaStream_t stream);
  /// Appends their addresses.
  void write(std::vector<std::uint64_t>& words) const;
  /// Null if the operand is not given.
  [[nodiscard]] std::byte* at(std::size_t number) const noexcept { return all_[number].address; }
  /// Copies the operands that were written.
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

/// \errors `invalid_argument` for a reserve of fewer bytes
[[nodiscard]] result<void> check_reserve(const any_tensor& reserve, std::size_t bytes);

[[nodiscard]] result<void> enqueue_copy(std::byte* to, const std::byte* from, std::size_t bytes,
                                        cudaStream_t stream);
[[nodiscard]] result<void> enqueue_zeros(std::byte* to, std::size_t bytes, cudaStream_t stream);

}  // namespace troupe::cuda::rnn
