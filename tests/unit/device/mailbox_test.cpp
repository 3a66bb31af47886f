#include "device/mailbox/mailbox.hpp"

#include "interrupter.hpp"
#include "under_sanitizers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace troupe {
namespace {

constexpr int mailbox_rounds = test::under_sanitizers ? 50'000 : 2'000'000;

TEST(DeviceMailbox, HandsOutEverySlotOnceAndThenNone) {
  const auto box = mailbox::create(100, 0).value();
  std::set<std::uint16_t> slots;
  for (int i = 0; i < 100; ++i)
    slots.insert(box->take_slot().value());
  EXPECT_EQ(slots.size(), 100u);
  EXPECT_EQ(*slots.rbegin(), 99);
  EXPECT_FALSE(box->take_slot());
  box->give_back_slot(42);
  EXPECT_EQ(box->take_slot(), 42);
}

TEST(DeviceMailbox, SlotsThatComeBackTogetherAreTakenInTheirOrder) {
  const auto box = mailbox::create(8, 0).value();
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(box->take_slot());
  box->give_back_slots(std::array<std::uint16_t, 1>{6});
  box->give_back_slots(std::array<std::uint16_t, 3>{3, 1, 2});
  for (const int expected : {3, 1, 2, 6})
    EXPECT_EQ(box->take_slot(), expected);
  EXPECT_FALSE(box->take_slot());
}

// Also where all slots have changed hands, and the same one is on top again, while somebody was
// about to take it.
TEST(DeviceMailbox, NoSlotIsEverInTwoHands) {
  constexpr std::uint32_t capacity = 8;  // few slots, so that threads meet at the same ones
  const auto box = mailbox::create(capacity, 0).value();
  // Relaxed: nothing but the mailbox is to order what its slots hold.
  std::array<std::atomic<int>, capacity> held{};
  std::atomic<int> violations{0};
  {
    testing_interrupts::interrupter holds_up;
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const testing_interrupts::interrupter::victim me(holds_up);
        std::minstd_rand random(t + 1);
        std::vector<std::uint16_t> mine;
        for (int i = 0; i < mailbox_rounds; ++i) {
          if (mine.size() < 3) {
            if (const auto slot = box->take_slot()) {
              if (held[*slot].exchange(1, std::memory_order_relaxed) != 0) ++violations;
              // A plain store, for a race detector: the last owner's must be visible.
              box->payload(*slot)[0] = std::byte{1};
              mine.push_back(*slot);
            }
          } else {
            for (const std::uint16_t slot : mine)
              held[slot].store(0, std::memory_order_relaxed);
            std::ranges::shuffle(mine, random);  // in their order all would be as it was
            box->give_back_slots(mine);
            mine.clear();
          }
        }
        for (const std::uint16_t slot : mine) {
          held[slot].store(0, std::memory_order_relaxed);
          box->give_back_slot(slot);
        }
      });
    }
  }
  EXPECT_EQ(violations.load(), 0);
  std::set<std::uint16_t> slots;
  while (const auto slot = box->take_slot()) {
    if (!slots.insert(*slot).second) break;
  }
  EXPECT_EQ(slots.size(), capacity) << "a slot was lost";
  EXPECT_FALSE(box->take_slot()) << "a slot is there twice";
}

TEST(DeviceMailbox, TicketsOfFourSendersReachAReaderInOrderAndComplete) {
  constexpr std::uint64_t each = 5'000;
  constexpr std::uint64_t senders = 4;
  const auto box = mailbox::create(32, 0).value();
  std::vector<std::uint64_t> seen(senders, 0);
  std::uint64_t wrong = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(senders);
    for (std::uint64_t t = 0; t < senders; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < each; ++i) {
          std::optional<std::uint16_t> slot = box->take_slot();
          while (!slot) {
            std::this_thread::yield();
            slot = box->take_slot();
          }
          // Plain data, visible to a thread that sees the entry.
          box->header(*slot).operation = t;
          box->header(*slot).spill_offset = i;
          box->publish(*slot, static_cast<std::uint8_t>(t));
        }
      });
    }
    for (std::uint64_t ticket = 0; ticket < each * senders; ++ticket) {
      std::uint64_t entry = box->entry(ticket);
      while (entry == 0) {
        std::this_thread::yield();
        entry = box->entry(ticket);
      }
      const std::uint16_t slot = wire::ring_entry::slot_of(entry);
      const wire::slot_header& header = box->header(slot);
      const std::uint64_t sender = header.operation;
      if (header.ticket != ticket || sender != wire::ring_entry::lane_of(entry) ||
          header.spill_offset != seen[sender]++) {
        ++wrong;
      }
      box->give_back_slot(slot);
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(box->next_ticket(), each * senders);
}

TEST(DeviceMailbox, AnEntryIsKnownByItsTicketInEveryRoundOfTheRing) {
  for (const std::uint64_t ticket :
       {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{64}, wire::ring_entry::ticket_mask,
        (std::uint64_t{1} << 40) - 1, std::uint64_t{1} << 41}) {
    const std::uint64_t packed =
        wire::ring_entry{.ticket = ticket, .slot = 0xfffe, .lane = 31}.packed();
    EXPECT_TRUE(wire::ring_entry::is_for(packed, ticket));
    EXPECT_FALSE(wire::ring_entry::is_for(packed, ticket + 64));
    EXPECT_EQ(wire::ring_entry::slot_of(packed), 0xfffe);
    EXPECT_EQ(wire::ring_entry::lane_of(packed), 31);
    const std::uint64_t first = wire::ring_entry{.ticket = ticket, .slot = 0, .lane = 0}.packed();
    EXPECT_NE(first, 0u) << "which is no entry, at ticket " << ticket;
    EXPECT_TRUE(wire::ring_entry::is_for(first, ticket));
  }
  EXPECT_FALSE(wire::ring_entry::is_for(0, 0)) << "an empty place is no entry";
}

TEST(DeviceMailbox, RingsAWorkerThatSleepsOnceAndOneThatDoesNotNever) {
  const auto box = mailbox::create(8, 0).value();
  box->activate(1, {}, 0);
  wire::doorbells& bells = box->bells(1);
  const std::uint32_t start = bells.request.load();
  bells.worker_sleeps.store(0);
  box->publish(*box->take_slot(), 0);
  EXPECT_EQ(bells.request.load(), start);
  bells.worker_sleeps.store(1);
  box->publish(*box->take_slot(), 0);
  box->publish(*box->take_slot(), 0);
  EXPECT_EQ(bells.request.load(), start + 1);
}

TEST(DeviceMailbox, WorkersAreHandedDifferentBells) {
  const auto box = mailbox::create(8, 0).value();
  EXPECT_NE(&box->bells(1), &box->bells(2));
  EXPECT_EQ(&box->bells(1), &box->bells(1 + wire::doorbell_sets));
}

TEST(DeviceMailbox, TheHeapGivesAllItHasAndTakesItBack) {
  const auto box = mailbox::create(8, 16'384).value();
  EXPECT_FALSE(box->take_heap(16'385));
  const auto all = box->take_heap(16'384);
  ASSERT_TRUE(all);
  EXPECT_FALSE(box->take_heap(1));
  box->give_back_heap(*all);
  EXPECT_TRUE(box->take_heap(1));
}

TEST(DeviceMailbox, ADigestTellsRequestsApartByBytesAndOperation) {
  const auto box = mailbox::create(8, 0).value();
  const auto digest = [&](std::uint64_t operation, std::byte content) {
    const std::uint16_t slot = *box->take_slot();
    box->header(slot).operation = operation;
    box->header(slot).payload_bytes = 4;
    std::ranges::fill(box->payload(slot).first(4), content);
    const std::uint64_t value = box->digest(slot);
    box->give_back_slot(slot);
    return value;
  };
  EXPECT_EQ(digest(1, std::byte{1}), digest(1, std::byte{1}));
  EXPECT_NE(digest(1, std::byte{1}), digest(2, std::byte{1}));
  EXPECT_NE(digest(1, std::byte{1}), digest(1, std::byte{2}));
}

}  // namespace
}  // namespace troupe
