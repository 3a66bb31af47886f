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

/// Room for one decoded request at a time; kept and used again, so that nothing is allocated in the
/// steady state.
class request_room {
 public:
  request_room() = default;
  request_room(const request_room&) = delete;
  request_room& operator=(const request_room&) = delete;
  ~request_room() { clear(); }

  /// Constructs an empty request of that type.
  void* emplace(const request_type& type) {
    clear();
    if (type.bytes > bytes_) {
      room_.reset(static_cast<std::byte*>(::operator new(type.bytes, alignment)));
      bytes_ = type.bytes;
    }
    type.construct(type.context, room_.get());
    type_ = &type;
    return room_.get();
  }
  void clear() noexcept {
    if (type_ != nullptr) type_->destroy(type_->context, room_.get());
    type_ = nullptr;
  }
  [[nodiscard]] void* get() const noexcept { return room_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct deleter {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, alignment); }
  };

  std::unique_ptr<std::byte, deleter> room_;
  std::size_t bytes_ = 0;
  const request_type* type_ = nullptr;
};

/// A request that was decoded and found valid, with what follows from its bytes alone.
struct decoded_request {
  request_room request;
  std::vector<wire::operand> operands;
  bool repeatable = false;  ///< reads nothing that it writes, so it may be run again
  bool large = false;       ///< touches so much memory that others should be read meanwhile

  /// \errors `protocol_violation`, and those of the request's validation: then nothing is used
  [[nodiscard]] result<void> decode(const operation& what, std::span<const std::byte> bytes,
                                    const wire::address_ranges& ranges);
  void clear() noexcept {
    request.clear();
    operands.clear();
    large = false;
  }
};

/// Requests that programs send again and again, by their bytes: to recognise one is much less work
/// than to decode and check it. What comes for the second time is taken in, so a program whose
/// requests all differ fills nothing here. A loop sends the same ones in the same order, so what
/// came after the last one the time before is looked at first. Each has two places to be in, so
/// that two of a loop that share one do not drive each other out in every round.
///
/// The thread that reads the mailbox looks things up; whoever has run a request lets go of it.
class decoded_requests {
 public:
  class entry {
   public:
    [[nodiscard]] const decoded_request& what() const noexcept { return decoded_; }
    /// By any thread. Release: it has read what it wanted to, before the entry is used anew.
    void let_go() noexcept { users_.fetch_sub(1, std::memory_order_release); }

   private:
    friend decoded_requests;
    [[nodiscard]] bool is(const operation& what, std::span<const std::byte> bytes) const noexcept;

    decoded_request decoded_;
    const operation* operation_ = nullptr;
    std::uint64_t hash_ = 0;
    std::vector<std::byte> bytes_;
    entry* next_ = nullptr;  ///< that was found after this one
    std::atomic<std::uint32_t> users_{0};
  };

  /// The request of these bytes, to be let go of; null where it has to be decoded.
  [[nodiscard]] entry* find(const operation& what, std::span<const std::byte> bytes,
                            const wire::address_ranges& ranges);

 private:
  static constexpr std::size_t capacity = 256;

  [[nodiscard]] entry* look_up(const operation& what, std::span<const std::byte> bytes,
                               const wire::address_ranges& ranges);
  [[nodiscard]] bool came_before(std::uint64_t hash) noexcept;
  [[nodiscard]] bool toss() noexcept { return (random_() & 0x1000) != 0; }

  std::array<std::unique_ptr<entry>, capacity> entries_;
  std::array<std::uint64_t, 4 * capacity> seen_{};  // hashes, of what came once
  entry* last_ = nullptr;                           // found; an entry stays where it is for good
  std::minstd_rand random_;                         // which of two that are taken goes next
};

}  // namespace troupe::worker
