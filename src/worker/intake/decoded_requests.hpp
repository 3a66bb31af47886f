#pragma once

#include "wire/codec.hpp"

#include <troupe/plugin/executor.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <vector>

namespace troupe::worker {

/// Storage for one decoded request at a time, reused, so that nothing is allocated in the steady
/// state.
class request_storage {
 public:
  request_storage() = default;
  request_storage(const request_storage&) = delete;
  request_storage& operator=(const request_storage&) = delete;
  ~request_storage() { clear(); }

  /// Constructs an empty request of that type.
  void* emplace(const request_type& type) {
    clear();
    if (type.bytes > bytes_) {
      storage_.reset(static_cast<std::byte*>(::operator new(type.bytes, alignment)));
      bytes_ = type.bytes;
    }
    type.construct(type.context, storage_.get());
    type_ = &type;
    return storage_.get();
  }
  void clear() noexcept {
    if (type_ == nullptr) return;
    type_->destroy(type_->context, storage_.get());
    type_ = nullptr;
  }
  [[nodiscard]] void* get() const noexcept { return storage_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct deleter {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, alignment); }
  };

  std::unique_ptr<std::byte, deleter> storage_;
  std::size_t bytes_ = 0;
  const request_type* type_ = nullptr;
};

/// A request that was decoded and found valid, with the properties that follow from its bytes
/// alone.
struct decoded_request {
  request_storage request;
  std::vector<wire::operand> operands;
  bool repeatable = false;  ///< reads nothing that it writes
  bool large = false;       ///< takes so long that another thread should read the mailbox meanwhile

  /// \errors `protocol_violation`, and those of the request's validation: then the entry is unused
  [[nodiscard]] result<void> decode(const operation& what, std::span<const std::byte> bytes,
                                    const wire::address_ranges& ranges);
  void clear() noexcept {
    request.clear();
    operands.clear();
    large = false;
  }
};

/// Requests that programs send again and again, by their bytes: recognising one is much cheaper
/// than decoding and checking it. A request is added when it comes for the second time, so a
/// program whose requests all differ adds nothing. A loop sends the same requests in the same
/// order, so the successor of the last hit is tried first. Each request has two possible places, so
/// that two of a loop that share one do not evict each other in every round.
///
/// The thread that reads the mailbox looks requests up; the thread that ran one releases it.
class decoded_requests {
 public:
  class entry {
   public:
    [[nodiscard]] const decoded_request& what() const noexcept { return decoded_; }
    /// By any thread. Release: its reads are done before the entry is reused.
    void let_go() noexcept { users_.fetch_sub(1, std::memory_order_release); }

   private:
    friend decoded_requests;
    [[nodiscard]] bool is(const operation& what, std::span<const std::byte> bytes) const noexcept;

    decoded_request decoded_;
    const operation* operation_ = nullptr;
    std::uint64_t hash_ = 0;
    std::vector<std::byte> bytes_;
    entry* next_ = nullptr;  ///< the entry that was found after this one
    std::atomic<std::uint32_t> users_{0};
  };

  /// The entry with these bytes, which the caller must release; null if it must decode the request.
  [[nodiscard]] entry* find(const operation& what, std::span<const std::byte> bytes,
                            const wire::address_ranges& ranges);

 private:
  static constexpr std::size_t capacity = 256;

  [[nodiscard]] entry* look_up(const operation& what, std::span<const std::byte> bytes,
                               const wire::address_ranges& ranges);
  [[nodiscard]] bool came_before(std::uint64_t hash) noexcept;
  [[nodiscard]] bool toss() noexcept { return (random_() & 0x1000) != 0; }

  std::array<std::unique_ptr<entry>, capacity> entries_;
  std::array<std::uint64_t, 4 * capacity> seen_{};  // hashes of requests that came once
  std::size_t kept_bytes_ = 0;                      // of all entries
  entry* last_ = nullptr;                           // the last hit; entries never move
  std::minstd_rand random_;  // chooses which of two occupied places is evicted
};

}  // namespace troupe::worker
