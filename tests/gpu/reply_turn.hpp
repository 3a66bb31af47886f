#pragma once

#include "wire/layout.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace troupe::testing_worker {

/// While a queue's thread writes a reply. Its room goes from one lane to the next through the
/// program, which is another process: that orders the two, and this says so where ThreadSanitizer
/// can see it.
class reply_turn {
 public:
  explicit reply_turn(const std::byte* reply) : owner_(owner_of(reply)) {
    (void)owner_.load(std::memory_order_acquire);
  }
  reply_turn(const reply_turn&) = delete;
  reply_turn& operator=(const reply_turn&) = delete;
  ~reply_turn() { owner_.fetch_add(1, std::memory_order_release); }

 private:
  static std::atomic<int>& owner_of(const std::byte* reply) {
    static std::array<std::atomic<int>, 1024> owners;
    return owners[reinterpret_cast<std::uintptr_t>(reply) / wire::slot_bytes % owners.size()];
  }

  std::atomic<int>& owner_;
};

}  // namespace troupe::testing_worker
