#include "core/actor/mailbox.hpp"

#include "under_sanitizers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

namespace troupe::detail {
namespace {

constexpr int each = test::under_sanitizers ? 4'000 : 40'000;
constexpr std::size_t senders = 3;

constexpr message_type numbered_type{"numbered", nullptr, nullptr};

struct numbered final : message {
  numbered() noexcept : message(numbered_type) { bytes = 8; }
  std::size_t sender = 0;
  int number = 0;  // plain: the thread that pops it must see it
  bool seen = false;
};

/// Several threads send what is theirs; what is taken out is looked at by one thread at a time.
class ActorMailbox : public ::testing::Test {
 protected:
  // By the sender, just before it sends it.
  void fill(std::span<numbered> mine, numbered& m) const {
    m.sender = static_cast<std::size_t>(
        std::ranges::find_if(messages_,
                             [&](const auto& of_one) { return mine.data() == of_one.data(); }) -
        messages_.begin());
    m.number = static_cast<int>(&m - mine.data());
  }
  void look_at(message& m) {
    auto& mine = static_cast<numbered&>(m);
    if (std::exchange(mine.seen, true)) ++doubled_;
    if (mine.number <= std::exchange(last_[mine.sender], mine.number)) ++out_of_order_;
  }
  [[nodiscard]] std::int64_t seen() const {
    std::int64_t count = 0;
    for (const auto& of_one : messages_)
      count += std::ranges::count(of_one, true, &numbered::seen);
    return count;
  }

  std::array<std::vector<numbered>, senders> messages_{
      std::vector<numbered>(each), std::vector<numbered>(each), std::vector<numbered>(each)};
  std::array<int, senders> last_{-1, -1, -1};
  int doubled_ = 0;
  int out_of_order_ = 0;
};

constexpr std::int64_t all = std::int64_t{senders} * each;

TEST_F(ActorMailbox, GivesEachMessageOnceAndASendersInOrderWhoeverReceives) {
  constexpr std::int64_t capacity = 256;
  mailbox box({.capacity = capacity, .when_full = overflow::reject});
  // Relaxed, all of them: nothing but the mailbox is to order what they count.
  std::atomic<std::int64_t> inside{0};
  std::atomic<std::int64_t> most{0};
  std::atomic<bool> receiving{false};  // the receiver's role, as an actor's state is
  std::atomic<std::int64_t> received{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(senders + 2);
    for (auto& mine : messages_) {
      threads.emplace_back([&] {
        for (numbered& m : mine) {
          fill(mine, m);
          while (!box.push(m).accepted)
            std::this_thread::yield();
          const std::int64_t now = inside.fetch_add(1, std::memory_order_relaxed) + 1;
          std::int64_t before = most.load(std::memory_order_relaxed);
          while (before < now &&
                 !most.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
          }
        }
      });
    }
    for (int r = 0; r < 2; ++r) {
      threads.emplace_back([&] {
        while (received.load(std::memory_order_relaxed) < all) {
          if (receiving.exchange(true, std::memory_order_acquire)) {
            std::this_thread::yield();
            continue;
          }
          for (int n = 0; n < 128; ++n) {
            message* m = box.pop();
            if (m == nullptr) break;
            inside.fetch_sub(1, std::memory_order_relaxed);
            look_at(*m);
            received.fetch_add(1, std::memory_order_relaxed);
          }
          box.publish_capacity();
          receiving.store(false, std::memory_order_release);
        }
      });
    }
  }
  EXPECT_EQ(seen(), all);
  EXPECT_EQ(doubled_, 0);
  EXPECT_EQ(out_of_order_, 0);
  EXPECT_TRUE(box.empty());
  // One may be out and not counted as such.
  EXPECT_LE(most, capacity + 1);
}

TEST_F(ActorMailbox, WakesWhoeverSleepsForRoom) {
  mailbox box({.capacity = 2});
  constexpr std::int64_t some = each / 4;  // each of which may take a trip through the kernel
  {
    std::vector<std::jthread> threads;
    threads.reserve(senders + 2);
    for (auto& mine : messages_) {
      threads.emplace_back([&] {
        for (numbered& m : std::span(mine).first(some)) {
          fill(mine, m);
          while (!box.push(m).accepted)
            box.await_capacity(m);
        }
      });
    }
    for (std::int64_t received = 0; received < some * std::int64_t{senders};) {
      message* m = box.pop();
      if (m == nullptr) {
        box.publish_capacity();
        std::this_thread::yield();
        continue;
      }
      look_at(*m);
      ++received;
    }
  }
  EXPECT_EQ(seen(), some * std::int64_t{senders});
  EXPECT_EQ(doubled_, 0);
  EXPECT_EQ(out_of_order_, 0);
}

TEST_F(ActorMailbox, GivesOrDropsEachMessageAndNoneTwice) {
  mailbox box({.capacity = 8, .when_full = overflow::drop_oldest});
  std::atomic<std::size_t> done{0};
  std::atomic<std::int64_t> dropped{0};
  std::int64_t received = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(senders + 2);
    for (auto& mine : messages_) {
      threads.emplace_back([&] {
        for (numbered& m : mine) {
          fill(mine, m);
          mailbox::push_outcome outcome = box.push(m);
          if (!outcome.accepted) ADD_FAILURE();
          while (outcome.dropped != nullptr) {
            message& one = *outcome.dropped;
            outcome.dropped = one.next.load(std::memory_order_relaxed);
            if (std::exchange(static_cast<numbered&>(one).seen, true)) ADD_FAILURE();
            dropped.fetch_add(1);
          }
        }
        done.fetch_add(1);
      });
    }
    for (bool more = true; more;) {
      const bool last_look = done.load() == senders;
      more = !last_look;
      while (message* m = box.pop()) {
        look_at(*m);
        ++received;
      }
    }
  }
  EXPECT_EQ(received + dropped, all);
  EXPECT_EQ(seen(), all);
  EXPECT_EQ(doubled_, 0);
  EXPECT_EQ(out_of_order_, 0);
}

}  // namespace
}  // namespace troupe::detail
