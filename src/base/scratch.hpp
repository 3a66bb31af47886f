#pragma once

#include <troupe/base/result.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>

namespace troupe::detail {

/// Host memory that is used again and grows as needed: a lane's workspace there. Aligned to 64
/// bytes. Used by one thread at a time.
class scratch {
 public:
  /// Memory of undefined content, valid until the next call. \errors `out_of_memory`
  [[nodiscard]] result<std::span<std::byte>> take(std::size_t bytes) {
    if (bytes > bytes_) {
      room_.reset();  // first, so that both need not fit
      room_.reset(static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow)));
      bytes_ = room_ ? bytes : 0;
      if (!room_) {
        return error{.code = errc::out_of_memory,
                     .message = std::to_string(bytes) + " bytes of workspace"};
      }
    }
    return std::span(room_.get(), bytes);
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct deleter {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, alignment); }
  };
  std::unique_ptr<std::byte, deleter> room_;
  std::size_t bytes_ = 0;
};

}  // namespace troupe::detail
