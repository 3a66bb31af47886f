#pragma once

#include "backend/cuda/context/late_failure.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {
namespace detail {

/// Appends text to the bytes of a reply.
class late_text {
 public:
  __device__ explicit late_text(std::byte* to) : to_(to) {}

  template <std::size_t N>
  __device__ void append(const char (&literal)[N]) {
    for (std::size_t i = 0; i + 1 < N; ++i)
      put(literal[i]);
  }
  __device__ void append(const late_words& words) {
    for (int i = 0; i < words.count(); ++i)
      put(words[i]);
  }
  __device__ void append(std::int64_t number) {
    auto rest = static_cast<std::uint64_t>(number);
    if (number < 0) {
      put('-');
      rest = 0 - rest;
    }
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    while (count > 0)
      put(digits[--count]);
  }
  [[nodiscard]] __device__ std::uint16_t bytes() const { return used_; }

 private:
  __device__ void put(char one) {
    if (used_ < sizeof(wire::reply_slot::bytes)) to_[used_++] = static_cast<std::byte>(one);
  }

  std::byte* to_;
  std::uint16_t used_ = 0;
};

}  // namespace detail

// As `wire::write_failure` does; the worker has already written which request the reply belongs to.
// The mark, which the stream writes once the kernel has ended, makes all of it visible.
template <class... Parts>
__device__ void late_failure::write(errc code, const Parts&... parts) const {
  detail::late_text message(slot_->bytes);
  (message.append(parts), ...);
  slot_->vendor_code = 0;
  slot_->code = static_cast<std::uint16_t>(code);
  slot_->library_bytes = 0;
  slot_->call_bytes = 0;
  slot_->code_name_bytes = 0;
  slot_->reply_bytes = message.bytes();
  slot_->heap_place = 0;
}

}  // namespace troupe::cuda
