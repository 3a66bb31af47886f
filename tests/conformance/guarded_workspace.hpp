#pragma once

#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace troupe::conformance {

/// The workspace of a test's lane: finds an executor's writes before or behind it, and under
/// AddressSanitizer its reads, too.
class guarded_workspace {
 public:
  ~guarded_workspace() { expect_untouched(); }

  /// Fresh memory of exactly that size, aligned as a device's is, until the next call.
  std::span<std::byte> take(std::size_t bytes) {
    expect_untouched();
    memory_.reset(static_cast<std::byte*>(::operator new(bytes + 2 * guard, alignment)));
    bytes_ = bytes;
    for (const auto side : sides()) {
      std::ranges::fill(side, guard_byte);
      ASAN_POISON_MEMORY_REGION(side.data(), side.size());
    }
    return {memory_.get() + guard, bytes};
  }

  /// To be called after each request.
  void expect_untouched() const {
    if (memory_ == nullptr) return;
    for (const auto side : sides()) {
      ASAN_UNPOISON_MEMORY_REGION(side.data(), side.size());
      EXPECT_TRUE(std::ranges::all_of(side, [](std::byte b) { return b == guard_byte; }))
          << "wrote outside a workspace of " << bytes_ << " bytes";
    }
  }

 private:
  static constexpr std::align_val_t alignment{256};
  static constexpr std::size_t guard = 256;
  static constexpr auto guard_byte = std::byte{0xFB};
  struct deleter {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };

  [[nodiscard]] std::array<std::span<std::byte>, 2> sides() const {
    return {std::span(memory_.get(), guard), std::span(memory_.get() + guard + bytes_, guard)};
  }

  std::unique_ptr<std::byte, deleter> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace troupe::conformance
