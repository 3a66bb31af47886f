#pragma once

#include <troupe/core/mailbox_options.hpp>
#include <troupe/core/message.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace troupe::detail {

/// The messages of one actor: many senders, one receiver.
///
/// Senders own `tail_` and `taken_in_`; the receiver owns `head_`, `front_` and `given_out_`, which
/// senders only read. The queue is Vyukov's: a sender exchanges `tail_` and then links its
/// predecessor (release), so the receiver that follows the link (acquire) sees the message. `tail_`
/// is exchanged and read seq_cst, because it is one half of "a sender pushes, then checks whether
/// the actor is idle; the actor goes idle, then checks whether something was pushed". A message is
/// linked once the next sender has written its `next`; from `pop` on it belongs to the receiver
/// alone.
///
/// Usage is counted in one word, messages above bytes: running sums of both, so that one fetch_add
/// reserves both and the difference of two words is the usage. It guards no data, so relaxed would
/// suffice for it alone. It is seq_cst because senders sleep until there is capacity: the receiver
/// stores `given_out_` and then reads `waiting_`, the sender counts itself there and then reads
/// `given_out_`, so at least one of the two sees the other. A failed reservation takes capacity
/// from others for a moment; they may be refused, but never is one too many admitted. With
/// `drop_oldest` a sender must remove messages, so that policy uses a lock instead.
class mailbox {
 public:
  explicit mailbox(const mailbox_options& options) noexcept;
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  struct push_outcome {
    bool accepted;
    message* dropped = nullptr;  ///< replaced by the accepted one
  };

  /// By any thread. Never waits; a message of 0 bytes is always accepted.
  push_outcome push(message& m) noexcept;

  /// By any thread: sleeps until there is capacity, or for a bounded time.
  void await_capacity(const message& m) noexcept;
  /// By any thread: approximately how many it holds.
  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] bool could_ever_hold(const message& m) const noexcept;
  void wake_waiters() noexcept;
  /// By any thread, after the receiver found the mailbox empty: true if something has come since.
  [[nodiscard]] bool arrived() const noexcept;

  /// By the receiver; null if empty, or if a sender is between its two steps.
  message* pop() noexcept;
  [[nodiscard]] bool empty() const noexcept;
  /// By the receiver: before everything else.
  void push_front(message& m) noexcept;
  /// By the receiver: calls `message_type::give_up` for all messages pushed so far, which stay.
  bool give_up(const future_state_base& awaited, const error& why) noexcept;
  /// By the receiver: publishes the capacity that `pop` has freed.
  void publish_capacity() noexcept;

  [[nodiscard]] const mailbox_options& options() const noexcept { return options_; }

 private:
  static constexpr unsigned bytes_bits = 40;
  static std::uint64_t cost_of(const message& m) noexcept {
    // A message beyond all limits must not overflow into the count of messages.
    constexpr std::int64_t too_many = (std::int64_t{1} << bytes_bits) - 1;
    return m.bytes == 0
               ? 0
               : (1ULL << bytes_bits) + static_cast<std::uint64_t>(std::min(m.bytes, too_many));
  }

  [[nodiscard]] bool reserve(std::uint64_t cost) noexcept;
  [[nodiscard]] bool fits(std::uint64_t taken_in, std::uint64_t cost) const noexcept;
  [[nodiscard]] bool half_free() const noexcept;
  void enqueue(message& m) noexcept;
  message* dequeue() noexcept;
  push_outcome push_dropping(message& m) noexcept;
  message* take_oldest() noexcept;

  // One cache line each for the senders' data, the receiver's published data, and its own.
  alignas(64) std::atomic<message*> tail_;
  std::atomic<std::uint64_t> taken_in_{0};
  alignas(64) std::atomic<std::uint64_t> given_out_{0};
  std::atomic<std::uint32_t> capacity_epoch_{0};
  std::atomic<std::uint32_t> waiting_{0};
  alignas(64) message* head_;
  message* front_ = nullptr;
  std::uint64_t popped_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t publish_every_;
  message stub_;
  mailbox_options options_;

  mutable std::mutex dropping_;  ///< only with drop_oldest: guards all below
  message* first_ = nullptr;
  message* last_ = nullptr;
  std::uint64_t held_ = 0;
};

}  // namespace troupe::detail
