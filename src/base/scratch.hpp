#pragma once

#include <troupe/base/result.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>

namespace troupe::detail {

/// Reusable host memory that grows as needed: a lane's workspace there. Aligned to 64 bytes. Used
/// by one thread at a time.
class scratch {
 public:
  /// Memory of undefined content, valid until the next call. \errors `out_of_memory`
  [[nodiscard]] result<std::span<std::byte>> take(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();  // first, so that both need not fit
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow)));
      bytes_ = memory_ ? bytes : 0;
      if (!memory_) {
        return error{.code = errc::out_of_memory,
                     .message = std::to_string(bytes) + " bytes of workspace"};
      }
    }
    return std::span(memory_.get(), bytes);
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct deleter {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, alignment); }
  };
  std::unique_ptr<std::byte, deleter> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace troupe::detail
