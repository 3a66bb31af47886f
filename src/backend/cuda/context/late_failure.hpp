#pragma once

#include "wire/layout.hpp"

#include <troupe/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::cuda {

/// A few words that the host has chosen, which travel with a kernel's arguments. What finds no room
/// is cut off.
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

/// Where a kernel says that the request it belongs to fails: for what only its data can tell. The
/// request ends well unless one thread of one kernel calls `write`, which is in
/// `late_failure.cuh`. A kernel takes it by value.
///
/// The kernel that writes is the last that the executor enqueues: an executor that fails itself
/// writes its own failure to the same place.
class late_failure {
 public:
  /// `reply` is what the executor's operation is given to write its reply to, in shared host
  /// memory that the device reaches at the same address.
  explicit late_failure(std::byte* reply) noexcept
      : slot_(reinterpret_cast<wire::reply_slot*>(reply - offsetof(wire::reply_slot, bytes))) {}

#ifdef __CUDACC__
  /// Makes the request fail with `code` and the message that `parts` make one after the other:
  /// string literals, integers and `late_words`. What finds no room is cut off.
  template <class... Parts>
  __device__ void write(errc code, const Parts&... parts) const;
#endif

 private:
  [[maybe_unused]] wire::reply_slot* slot_;  // used by kernels alone
};

}  // namespace troupe::cuda
