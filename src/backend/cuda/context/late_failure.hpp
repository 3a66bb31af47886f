#pragma once

#include "wire/layout.hpp"

#include <troupe/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::cuda {

/// A few words chosen by the host, which travel with a kernel's arguments. Longer text is cut off.
class late_words {
 public:
  late_words() = default;
  explicit late_words(std::string_view text) noexcept
      : count_(static_cast<std::uint8_t>(text.copy(letters_, sizeof(letters_)))) {}

#ifdef __CUDACC__
  [[nodiscard]] __device__ int count() const { return count_; }
  [[nodiscard]] __device__ char operator[](int i) const { return letters_[i]; }
#endif

 private:
  char letters_[63]{};
  std::uint8_t count_ = 0;
};

/// Lets a kernel report that its request fails, for failures that only its data shows. The request
/// succeeds unless one thread of one kernel calls `write`, which is in `late_failure.cuh`. A kernel
/// takes it by value.
///
/// The kernel that writes is the last one that the executor enqueues: an executor that fails itself
/// writes its own failure to the same place.
class late_failure {
 public:
  /// `reply` is where the executor's operation writes its reply: shared host memory that the device
  /// accesses at the same address.
  explicit late_failure(std::byte* reply) noexcept
      : slot_(reinterpret_cast<wire::reply_slot*>(reply - offsetof(wire::reply_slot, bytes))) {}

#ifdef __CUDACC__
  /// Makes the request fail with `code` and the concatenation of `parts` as its message: string
  /// literals, integers and `late_words`. Longer text is cut off.
  template <class... Parts>
  __device__ void write(errc code, const Parts&... parts) const;
#endif

 private:
  [[maybe_unused]] wire::reply_slot* slot_;  // used by kernels only
};

}  // namespace troupe::cuda
