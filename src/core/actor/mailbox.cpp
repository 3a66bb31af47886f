#include "core/actor/mailbox.hpp"

#include "os/futex.hpp"

#include <sched.h>

#include <algorithm>
#include <climits>

namespace troupe::detail {
namespace {

constexpr message_type stub_type{"stub", nullptr, nullptr};

// Limits to countable numbers, with a margin for failed reservations.
mailbox_options countable(mailbox_options options) noexcept {
  options.capacity = std::min(options.capacity, most_messages);
  options.capacity_bytes = std::min(options.capacity_bytes, most_message_bytes);
  return options;
}

}  // namespace

mailbox::mailbox(const mailbox_options& options) noexcept
    : tail_(&stub_), head_(&stub_), stub_(stub_type), options_(countable(options)) {
  // Publishing costs the senders a cache miss, so a large mailbox publishes in batches.
  publish_every_ =
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(options_.capacity / 16, 1, 64));
}

bool mailbox::fits(std::uint64_t taken_in, std::uint64_t cost) const noexcept {
  const std::uint64_t used = taken_in - given_out_.load(std::memory_order_seq_cst);
  // Others may have come and gone since `taken_in` was read: then the difference is negative.
  if (static_cast<std::int64_t>(used) < 0) return true;
  const std::uint64_t total = used + cost;
  return static_cast<std::int64_t>(total >> bytes_bits) <= options_.capacity &&
         static_cast<std::int64_t>(total & ((1ULL << bytes_bits) - 1)) <= options_.capacity_bytes;
}

bool mailbox::could_ever_hold(const message& m) const noexcept {
  return options_.capacity > 0 && m.bytes <= options_.capacity_bytes;
}

std::int64_t mailbox::size() const noexcept {
  if (options_.when_full == overflow::drop_oldest) {
    const std::lock_guard lock(dropping_);
    return static_cast<std::int64_t>(held_ >> bytes_bits);
  }
  // Acquire: a receiver that has given one out is seen to be in its turn.
  const std::uint64_t out = given_out_.load(std::memory_order_acquire);
  const std::uint64_t in = taken_in_.load(std::memory_order_relaxed);
  return std::max<std::int64_t>(static_cast<std::int64_t>(in - out), 0) >> bytes_bits;
}

bool mailbox::reserve(std::uint64_t cost) noexcept {
  const std::uint64_t before = taken_in_.fetch_add(cost, std::memory_order_relaxed);
  if (fits(before, cost)) [[likely]]
    return true;
  taken_in_.fetch_sub(cost, std::memory_order_relaxed);
  return false;
}

mailbox::push_outcome mailbox::push(message& m) noexcept {
  if (options_.when_full == overflow::drop_oldest) return push_dropping(m);
  const std::uint64_t cost = cost_of(m);
  if (cost != 0 && !reserve(cost)) return {false};
  enqueue(m);
  return {true};
}

void mailbox::enqueue(message& m) noexcept {
  m.next.store(nullptr, std::memory_order_relaxed);
  message* before = tail_.exchange(&m, std::memory_order_seq_cst);
  before->next.store(&m, std::memory_order_release);
}

message* mailbox::dequeue() noexcept {
  message* head = head_;
  message* next = head->next.load(std::memory_order_acquire);
  if (head == &stub_) {
    if (next == nullptr) return nullptr;
    head_ = head = next;
    next = head->next.load(std::memory_order_acquire);
  }
  if (next == nullptr) {
    if (tail_.load(std::memory_order_acquire) != head) return nullptr;
    enqueue(stub_);
    next = head->next.load(std::memory_order_acquire);
    if (next == nullptr) return nullptr;
  }
  head_ = next;
  return head;
}

message* mailbox::pop() noexcept {
  if (front_ != nullptr) [[unlikely]] {
    message* m = front_;
    front_ = m->next.load(std::memory_order_relaxed);
    return m;
  }
  if (options_.when_full == overflow::drop_oldest) {
    const std::lock_guard lock(dropping_);
    return take_oldest();
  }
  message* m = dequeue();
  if (m != nullptr && m->bytes != 0) {
    popped_ += cost_of(*m);
    if (((popped_ - published_) >> bytes_bits) >= publish_every_) publish_capacity();
  }
  return m;
}

bool mailbox::empty() const noexcept {
  if (front_ != nullptr) return false;
  if (options_.when_full == overflow::drop_oldest) {
    const std::lock_guard lock(dropping_);
    return first_ == nullptr;
  }
  return head_ == &stub_ && tail_.load(std::memory_order_seq_cst) == &stub_;
}

bool mailbox::arrived() const noexcept {
  if (options_.when_full == overflow::drop_oldest) {
    const std::lock_guard lock(dropping_);
    return first_ != nullptr;
  }
  return tail_.load(std::memory_order_seq_cst) != &stub_;
}

void mailbox::push_front(message& m) noexcept {
  m.next.store(front_, std::memory_order_relaxed);
  front_ = &m;
}

bool mailbox::give_up(const future_state_base& awaited, const error& why) noexcept {
  const auto is_it = [&](message& m) {
    return m.type->give_up != nullptr && m.type->give_up(m, awaited, why);
  };
  if (options_.when_full == overflow::drop_oldest) {
    const std::lock_guard lock(dropping_);
    for (message* m = first_; m != nullptr; m = m->next.load(std::memory_order_relaxed)) {
      if (is_it(*m)) return true;
    }
    return false;
  }
  message* m = head_;
  for (;;) {
    if (is_it(*m)) return true;
    message* next = nullptr;
    while ((next = m->next.load(std::memory_order_acquire)) == nullptr) {
      if (tail_.load(std::memory_order_acquire) == m) return false;
      ::sched_yield();  // a sender is between its two steps, and the one we look for may be behind
                        // it
    }
    m = next;
  }
}

void mailbox::publish_capacity() noexcept {
  if (popped_ == published_) return;
  published_ = popped_;
  given_out_.store(popped_, std::memory_order_seq_cst);
  // seq_cst on both sides: either the waiter sees the capacity, or this sees the waiter. Waiters
  // are woken when half is free: waking them for every message would cost a system call each.
  if (waiting_.load(std::memory_order_seq_cst) != 0 && half_free()) wake_waiters();
}

bool mailbox::half_free() const noexcept {
  const auto used = static_cast<std::int64_t>(taken_in_.load(std::memory_order_relaxed) - popped_);
  if (used <= 0) return true;
  const auto messages = used >> bytes_bits;
  const auto bytes = used & ((std::int64_t{1} << bytes_bits) - 1);
  return messages <= options_.capacity / 2 && bytes <= options_.capacity_bytes / 2;
}

void mailbox::wake_waiters() noexcept {
  // Avoids a system call if no sender waits. A sender that comes now checks again.
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  capacity_epoch_.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake(capacity_epoch_, INT_MAX, os::sharing::program);
}

void mailbox::await_capacity(const message& m) noexcept {
  using namespace std::chrono_literals;
  const std::uint32_t epoch = capacity_epoch_.load(std::memory_order_seq_cst);
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  if (!fits(taken_in_.load(std::memory_order_relaxed), cost_of(m))) {
    // Bounded: the receiver may have become idle, and then the sender helps it.
    os::futex_wait(capacity_epoch_, epoch, std::chrono::steady_clock::now() + 1ms,
                   os::sharing::program);
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

message* mailbox::take_oldest() noexcept {
  message* m = first_;
  if (m == nullptr) return nullptr;
  first_ = m->next.load(std::memory_order_relaxed);
  if (first_ == nullptr) last_ = nullptr;
  held_ -= cost_of(*m);
  return m;
}

mailbox::push_outcome mailbox::push_dropping(message& m) noexcept {
  const std::lock_guard lock(dropping_);
  const std::uint64_t cost = cost_of(m);
  message* dropped = nullptr;
  if (cost != 0) {
    if (!could_ever_hold(m)) return {false};
    const auto full = [&] {
      const std::uint64_t total = held_ + cost;
      return static_cast<std::int64_t>(total >> bytes_bits) > options_.capacity ||
             static_cast<std::int64_t>(total & ((1ULL << bytes_bits) - 1)) >
                 options_.capacity_bytes;
    };
    message* kept_last = nullptr;
    message* candidate = first_;
    while (full() && candidate != nullptr) {
      message* after = candidate->next.load(std::memory_order_relaxed);
      if (candidate->bytes == 0) {
        kept_last = candidate;  // the runtime's messages are never dropped
      } else {
        if (kept_last == nullptr) {
          first_ = after;
        } else {
          kept_last->next.store(after, std::memory_order_relaxed);
        }
        if (last_ == candidate) last_ = kept_last;
        held_ -= cost_of(*candidate);
        candidate->next.store(dropped, std::memory_order_relaxed);
        dropped = candidate;
      }
      candidate = after;
    }
  }
  m.next.store(nullptr, std::memory_order_relaxed);
  if (last_ == nullptr) {
    first_ = &m;
  } else {
    last_->next.store(&m, std::memory_order_relaxed);
  }
  last_ = &m;
  held_ += cost;
  return {true, dropped};
}

}  // namespace troupe::detail
