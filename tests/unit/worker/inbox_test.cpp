#include "request/description/text.hpp"
#include "stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace troupe {
namespace {

using namespace testing_worker;

class WorkerInbox : public testing::Test {
 protected:
  worker::inbox open() const {
    auto opened = worker::inbox::open(stage_.requests->shared(), stage_.requests->total_bytes());
    return *std::move(opened);
  }
  /// Reads an entry and answers why it was refused, if it was.
  std::optional<error> read(worker::inbox& from, std::uint64_t entry) {
    from.read(entry, stage_.operations, ranges_, job_);
    return job_.refused;
  }
  std::int64_t number() const {
    return static_cast<const step*>(job_.what().request.get())->number;
  }

  stage stage_;
  wire::address_ranges ranges_ = stage_.ranges();
  worker::job job_;
  std::uint64_t sent_ = 0;
};

TEST_F(WorkerInbox, ReadsTheReplayListBeforeTheRing) {
  const std::uint16_t first = stage_.prepare({.number = 1});
  stage_.requests->publish(first, 3);
  stage_.send({.number = 2}, 4);
  const std::uint64_t old = stage_.requests->entry(0);
  stage_.send({.number = 3}, 5);
  // A worker that follows another one: ticket 0 is run again, 1 is not, 2 is next in the ring.
  stage_.requests->activate(1, {old}, 2);
  worker::inbox inbox = open();
  EXPECT_FALSE(inbox.activated(2));
  ASSERT_TRUE(inbox.activated(1));
  inbox.begin();
  EXPECT_TRUE(inbox.has_more());
  const std::uint64_t replayed = inbox.poll();
  ASSERT_FALSE(read(inbox, replayed));
  EXPECT_EQ(number(), 1);
  EXPECT_EQ(job_.lane, 3);
  EXPECT_EQ(job_.slot, first);
  ASSERT_FALSE(read(inbox, inbox.poll()));
  EXPECT_EQ(number(), 3);
  EXPECT_EQ(job_.ticket, 2u);
  EXPECT_FALSE(inbox.has_more());
  EXPECT_EQ(inbox.poll(), 0u);
}

TEST_F(WorkerInbox, ReadsNoMoreOfTheReplayListThanThereIs) {
  std::vector<std::uint64_t> all;
  for (std::uint32_t i = 0; i < stage::capacity; ++i) {
    stage_.send({.number = 1}, 0);
    all.push_back(stage_.requests->entry(i));
  }
  stage_.requests->activate(1, all, stage::capacity);
  const_cast<wire::mailbox_header*>(stage_.requests->shared())->active.replay_count =
      stage::capacity + 100;
  worker::inbox inbox = open();
  inbox.begin();
  std::uint32_t seen = 0;
  while (inbox.has_more() && seen <= stage::capacity)
    EXPECT_EQ(inbox.poll(), all[seen++ % all.size()]);
  EXPECT_EQ(seen, stage::capacity);
}

TEST_F(WorkerInbox, SeesAnEntryOnlyOnceItIsThere) {
  stage_.requests->activate(1, {}, 0);
  worker::inbox inbox = open();
  inbox.begin();
  EXPECT_EQ(inbox.poll(), 0u);
  stage_.send({.number = 5}, 0);
  EXPECT_NE(inbox.poll(), 0u);
  EXPECT_EQ(inbox.poll(), 0u) << "an entry is taken once";
}

TEST_F(WorkerInbox, TakesUpSeveralAheadAndLosesNone) {
  stage_.requests->activate(1, {}, 0);
  worker::inbox inbox = open();
  inbox.begin();
  std::int64_t sent = 0;
  std::int64_t seen = 0;
  // More than a round of the ring, in bursts that end anywhere in a cache line of it.
  for (const int burst : {1, 3, 8, 20, 7, 30, 2, 41, 9, 60, 5}) {
    for (int i = 0; i < burst; ++i)
      stage_.send({.number = sent++}, 0);
    while (inbox.has_more()) {
      const std::uint64_t entry = inbox.poll();
      ASSERT_NE(entry, 0u);
      ASSERT_FALSE(read(inbox, entry));
      ASSERT_EQ(number(), seen++);
      stage_.requests->give_back_slot(job_.slot);
    }
    ASSERT_EQ(inbox.poll(), 0u);
    ASSERT_EQ(seen, sent);
  }
}

TEST_F(WorkerInbox, KnowsWhatIsSentAgainFromWhateverSlot) {
  const step repeated{.writes = stage_.kib(0, 1), .number = 4, .ballast = {1, 2, 3}};
  worker::inbox inbox = open();
  const void* known = nullptr;
  for (int i = 0; i < 5; ++i) {
    const std::uint16_t slot = stage_.send(repeated, 0);
    stage_.requests->header(slot).deadline_ns = 70 + i;
    stage_.requests->header(slot).sequence = 80 + static_cast<std::uint64_t>(i);
    ASSERT_FALSE(read(inbox, stage_.requests->entry(static_cast<std::uint64_t>(i))));
    ASSERT_EQ(job_.known != nullptr, i > 0) << "once is no habit";
    if (i == 1) known = job_.what().request.get();
    if (i > 1) {
      EXPECT_EQ(job_.what().request.get(), known);
    }
    EXPECT_EQ(number(), 4);
    EXPECT_EQ(job_.what().operands.size(), 1u);
    EXPECT_TRUE(job_.what().repeatable);
    EXPECT_EQ(job_.deadline_ns, 70 + i) << "what the header says is always new";
    EXPECT_EQ(job_.sequence, 80 + static_cast<std::uint64_t>(i));
    job_.release_request();
  }
}

TEST_F(WorkerInbox, SeesEveryByteThatDiffersFromWhatItKnows) {
  const std::uint16_t slot =
      stage_.send({.writes = stage_.kib(0, 1), .number = 4, .ballast = {1, 2, 3}}, 0);
  worker::inbox inbox = open();
  const std::span payload =
      stage_.requests->payload(slot).first(stage_.requests->header(slot).payload_bytes);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    const std::byte was = std::exchange(payload[i], payload[i] ^ std::byte{0x80});
    for (int again = 0; again < 3; ++again) {
      if (read(inbox, stage_.requests->entry(0))) {
        EXPECT_EQ(job_.known, nullptr) << "byte " << i;
        EXPECT_TRUE(job_.what().operands.empty()) << "what is refused must hold nobody up";
      } else {
        step afresh;
        std::vector<wire::operand> operands;
        ASSERT_TRUE(
            wire::decode(request_type_of<step>(), &afresh, payload, stage_.ranges(), operands));
        EXPECT_EQ(print(request_type_of<step>(), job_.what().request.get()),
                  print(request_type_of<step>(), &afresh))
            << "byte " << i;
        ASSERT_EQ(job_.what().operands.size(), operands.size()) << "byte " << i;
        EXPECT_TRUE(std::ranges::equal(job_.what().operands, operands, {}, &wire::operand::begin,
                                       &wire::operand::begin));
      }
    }
    payload[i] = was;
    ASSERT_FALSE(read(inbox, stage_.requests->entry(0)));
    ASSERT_EQ(number(), 4);
  }
}

TEST_F(WorkerInbox, KnowsThemInWhateverOrderTheyCome) {
  worker::inbox inbox = open();
  std::mt19937 random(7);
  std::uint64_t sent = 0;
  int recognised = 0;
  constexpr int rounds = 600;
  for (int i = 0; i < rounds; ++i) {
    // A loop of four, which is left now and then, also for one that comes only once.
    const bool leaves = random() % 4 == 0;
    const auto other = static_cast<std::int64_t>(random() % 4);
    const std::int64_t number = !leaves ? i % 4 : i % 20 == 0 ? 1'000 + i : other;
    const std::uint16_t slot =
        stage_.send({.writes = stage_.kib(0, 1), .number = number, .ballast = {1, 2, 3}}, 0);
    stage_.requests->give_back_slot(slot);
    ASSERT_FALSE(read(inbox, stage_.requests->entry(sent++)));
    ASSERT_EQ(this->number(), number);
    if (job_.known != nullptr) ++recognised;
    job_.release_request();
  }
  EXPECT_GT(recognised, rounds * 9 / 10);
}

TEST_F(WorkerInbox, WhatRunsIsNotForgottenForAnother) {
  worker::inbox inbox = open();
  // More of them than can be known at once, each twice, and all but one let go of.
  const auto send = [&](std::int64_t number) {
    const std::uint16_t slot =
        stage_.send({.writes = stage_.kib(0, 1), .number = number, .ballast = {1, 2, 3}}, 0);
    stage_.requests->give_back_slot(slot);
    return stage_.requests->entry(sent_++);
  };
  worker::job running;
  for (int i = 0; i < 2; ++i)
    inbox.read(send(993), stage_.operations, ranges_, running);
  ASSERT_NE(running.known, nullptr);
  for (std::int64_t number = 1; number < 900; ++number) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_FALSE(read(inbox, send(number)));
      ASSERT_EQ(this->number(), number);
      job_.release_request();
    }
  }
  EXPECT_EQ(static_cast<const step*>(running.what().request.get())->number, 993);
  running.release_request();
}

TEST_F(WorkerInbox, ARequestThatIsRefusedUsesNothing) {
  const std::uint16_t slot = stage_.send({.writes = stage_.kib(0, 1), .number = 4}, 0);
  worker::inbox inbox = open();
  ASSERT_FALSE(read(inbox, stage_.requests->entry(0)));
  stage_.requests->header(slot).operation = 12'345;
  ASSERT_TRUE(read(inbox, stage_.requests->entry(0)));
  EXPECT_TRUE(job_.what().operands.empty());
  EXPECT_FALSE(job_.what().large);
}

TEST_F(WorkerInbox, TakesLongRequestsFromTheHeap) {
  const std::uint16_t slot =
      stage_.send({.number = 9, .ballast = std::vector<std::int64_t>(1'000, 42)}, 0);
  ASSERT_GT(stage_.requests->header(slot).payload_bytes, wire::slot_payload_bytes);
  worker::inbox inbox = open();
  ASSERT_FALSE(read(inbox, stage_.requests->entry(0)));
  EXPECT_EQ(static_cast<const step*>(job_.what().request.get())->ballast[999], 42);
}

TEST_F(WorkerInbox, RefusesAPayloadOutsideTheHeap) {
  const std::uint16_t slot = stage_.send({.number = 9}, 0);
  wire::slot_header& header = stage_.requests->header(slot);
  worker::inbox inbox = open();
  header.payload_bytes = 1'000;
  for (const std::uint64_t offset : {stage_.requests->heap_bytes() - 999,
                                     stage_.requests->heap_bytes() + 1, ~std::uint64_t{0}}) {
    header.spill_offset = offset;
    ASSERT_TRUE(read(inbox, stage_.requests->entry(0)));
    EXPECT_EQ(job_.refused->code, errc::protocol_violation);
    // Garbage that was read there after all has the same code.
    EXPECT_NE(job_.refused->message.find("of a heap of"), std::string::npos)
        << job_.refused->message;
  }
  header.spill_offset = stage_.requests->heap_bytes() - 1'000;
  ASSERT_TRUE(read(inbox, stage_.requests->entry(0)));
  EXPECT_EQ(job_.refused->message.find("of a heap of"), std::string::npos)
      << "up to the last byte it is the heap: " << job_.refused->message;
  header.payload_bytes = 0xffff'ffff;
  header.spill_offset = 0;
  EXPECT_EQ(read(inbox, stage_.requests->entry(0))->code, errc::protocol_violation);
}

TEST_F(WorkerInbox, RefusesASlotOrALaneThatIsNone) {
  stage_.send({.number = 9}, 0);
  worker::inbox inbox = open();
  const auto entry = [](std::uint16_t slot, std::uint8_t lane) {
    return wire::ring_entry{.ticket = 0, .slot = slot, .lane = lane}.packed();
  };
  for (const std::uint64_t bad :
       {entry(stage::capacity, 0), entry(0xffff, 0), entry(0, 32), entry(0, 255)}) {
    ASSERT_TRUE(read(inbox, bad));
    EXPECT_EQ(job_.refused->code, errc::protocol_violation);
    EXPECT_LT(job_.slot, stage::capacity);
    EXPECT_LT(job_.lane, wire::max_lanes);
  }
}

TEST_F(WorkerInbox, RefusesWhatItDoesNotKnowOrWhatIsNotValid) {
  const std::uint16_t slot = stage_.send({.number = -1}, 0);
  worker::inbox inbox = open();
  EXPECT_EQ(read(inbox, stage_.requests->entry(0))->code, errc::invalid_argument)
      << "the worker checks again what the program has checked";
  stage_.requests->header(slot).operation = 12'345;
  EXPECT_EQ(read(inbox, stage_.requests->entry(0))->code, errc::library_missing);
}

TEST_F(WorkerInbox, CallsARequestLargeByTheBytesThatItTouches) {
  stage_.send({.reads = stage_.kib(0, 64), .number = 1}, 0);
  stage_.send({.reads = stage_.kib(0, 64), .writes = stage_.kib(100, 1), .number = 2}, 0);
  worker::inbox inbox = open();
  ASSERT_FALSE(read(inbox, stage_.requests->entry(0)));
  EXPECT_FALSE(job_.what().large);
  ASSERT_FALSE(read(inbox, stage_.requests->entry(1)));
  EXPECT_TRUE(job_.what().large);
}

TEST_F(WorkerInbox, CallsARequestLargeWhenNobodySaysHowLongItTakes) {
  stage_.operations.add(&run_step);
  stage_.send({.number = 1}, 0);
  worker::inbox inbox = open();
  ASSERT_FALSE(read(inbox, stage_.requests->entry(0)));
  EXPECT_TRUE(job_.what().large);
}

class WorkerInboxHeader : public testing::Test {
 protected:
  /// A copy of a good header in front of as much memory, spoiled by the test.
  WorkerInboxHeader() {
    bytes_ = good_->total_bytes();
    pages_ = os::map(os::create_shared_memory("copy", bytes_).value(), bytes_,
                     os::protection::read_write)
                 .value();
    header_ = ::new (pages_.address()) wire::mailbox_header();
    header_->geometry = good_->shared()->geometry;
  }
  std::optional<errc> refusal(std::size_t bytes) {
    auto opened = worker::inbox::open(header_, bytes);
    if (opened) return std::nullopt;
    return opened.error().code;
  }
  std::optional<errc> refusal_with(void (*spoil)(wire::mailbox_geometry&)) {
    header_->geometry = good_->shared()->geometry;
    spoil(header_->geometry);
    return refusal(bytes_);
  }

  std::unique_ptr<mailbox> good_ = mailbox::create(16, 4096).value();
  std::size_t bytes_ = 0;
  os::mapping pages_;
  wire::mailbox_header* header_ = nullptr;
};

TEST_F(WorkerInboxHeader, IsTakenWhenItFits) { EXPECT_EQ(refusal(bytes_), std::nullopt); }

TEST_F(WorkerInboxHeader, IsRefusedWhereTheMappingIsSmaller) {
  for (std::size_t bytes = 0; bytes < bytes_; bytes += 8) {
    ASSERT_EQ(refusal(bytes), errc::protocol_violation) << bytes;
  }
}

TEST_F(WorkerInboxHeader, OfAnotherVersionSaysSo) {
  header_->version = wire::protocol_version + 1;
  EXPECT_EQ(refusal(bytes_), errc::version_mismatch);
  header_->magic_number ^= 1;
  EXPECT_EQ(refusal(bytes_), errc::protocol_violation);
}

TEST_F(WorkerInboxHeader, WithImpossibleGeometryIsRefused) {
  using g = wire::mailbox_geometry;
  const errc bad = errc::protocol_violation;
  EXPECT_EQ(refusal_with([](g& x) { x.capacity = 0; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.capacity = 0x10000; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.capacity = 17; }), bad) << "two rounds in the ring at once";
  EXPECT_EQ(refusal_with([](g& x) { x.ring_size = 31; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.ring_size = 0; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.ring_size = 0x8000'0000; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.ring_offset = ~std::uint64_t{63}; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.ring_offset += 4; }), bad) << "atomics want their alignment";
  EXPECT_EQ(refusal_with([](g& x) { x.replay_offset += 4; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.slots_offset += 8; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.slots_offset = x.total_bytes; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.heap_bytes += 1; }), bad);
  EXPECT_EQ(refusal_with([](g& x) { x.heap_bytes = ~std::uint64_t{0}; }), bad);
}

}  // namespace
}  // namespace troupe
