#include "wire/reply.hpp"

#include "os/message_socket.hpp"
#include "wire/control.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

namespace troupe {
namespace {

TEST(WireReply, AnErrorComesBackAsItWas) {
  const error sent{.code = errc::library_error,
                   .message = "matrix is singular",
                   .library = "openblas",
                   .call = "dgetrf",
                   .code_name = "INFO",
                   .vendor_code = -3};
  wire::reply_slot slot;
  wire::write_failure(slot, 42, sent);
  EXPECT_EQ(slot.ticket, 42u);
  const auto got = wire::read_failure(slot);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->code, sent.code);
  EXPECT_EQ(got->message, sent.message);
  EXPECT_EQ(got->library, sent.library);
  EXPECT_EQ(got->call, sent.call);
  EXPECT_EQ(got->code_name, sent.code_name);
  EXPECT_EQ(got->vendor_code, sent.vendor_code);
}

TEST(WireReply, TextsAreCutToWhatFits) {
  wire::reply_slot slot;
  wire::write_failure(
      slot, 1, {.code = errc::library_error, .message = std::string(10'000, 'm'), .call = "f"});
  const auto got = wire::read_failure(slot);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->call, "f");
  EXPECT_EQ(got->message, std::string(sizeof(slot.bytes) - 1, 'm'));
  wire::write_failure(
      slot, 1,
      {.code = errc::library_error, .message = "lost", .library = std::string(10'000, 'l')});
  EXPECT_EQ(wire::read_failure(slot)->message, "");
}

// Whether a worker cuts them or not: pieces of the heap need not be disjoint, so that each of a
// thousand slots could say that all of it is its own.
TEST(WireReply, TextsInTheHeapAreCutWhereTheyAreWrittenAndWhereTheyAreRead) {
  EXPECT_EQ(wire::text_bytes({.message = std::string(10'000'000, 'm'), .library = "l"}),
            wire::longest_text_bytes);
  const auto segment = std::make_unique<std::uint64_t[]>(wire::worker_segment_bytes(1) / 8);
  auto* const header = reinterpret_cast<wire::worker_header*>(segment.get());
  auto* const slot = reinterpret_cast<wire::reply_slot*>(header + 1);
  *slot = {};
  slot->ticket = 7;
  slot->code = static_cast<std::uint16_t>(errc::library_error);
  slot->heap_place = 1;
  slot->call_bytes = 2;
  slot->reply_bytes = wire::reply_heap_bytes - 2;
  wire::reply_copy got;
  ASSERT_TRUE(wire::copy_reply(header, 1, 0, 7, got));
  EXPECT_TRUE(got.is_whole);
  EXPECT_EQ(got.long_bytes.size(), wire::longest_text_bytes);
  EXPECT_EQ(wire::read_failure(got.slot, got.bytes())->message.size(),
            wire::longest_text_bytes - 2);
}

TEST(WireReply, ASuccessHasNoError) {
  const wire::reply_slot slot;
  EXPECT_FALSE(wire::read_failure(slot));
}

TEST(WireReply, AnUnknownCodeIsAViolationNeverASuccess) {
  wire::reply_slot slot;
  const auto last = static_cast<std::uint16_t>(errc::system_error);
  for (const std::uint16_t code : {static_cast<std::uint16_t>(last + 1), std::uint16_t{0xffff}}) {
    slot.code = code;
    ASSERT_TRUE(wire::read_failure(slot));
    EXPECT_EQ(wire::read_failure(slot)->code, errc::protocol_violation) << code;
  }
}

TEST(WireReply, EveryCodeThereIsIsRead) {
  for (std::uint16_t code = 1; code <= static_cast<std::uint16_t>(errc::system_error); ++code) {
    wire::reply_slot slot;
    wire::write_failure(slot, 1, {.code = static_cast<errc>(code)});
    ASSERT_TRUE(wire::read_failure(slot)) << code;
    EXPECT_EQ(wire::read_failure(slot)->code, static_cast<errc>(code));
    EXPECT_TRUE(wire::had_begun(slot));
    slot.code |= wire::not_begun;
    EXPECT_EQ(wire::read_failure(slot)->code, static_cast<errc>(code));
    EXPECT_FALSE(wire::had_begun(slot));
  }
}

TEST(WireReply, WhateverASlotSaysIsReadWithinIt) {
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    wire::reply_slot slot;
    std::array<std::byte, sizeof(slot)> noise;
    for (std::byte& b : noise)
      b = static_cast<std::byte>(random());
    std::memcpy(static_cast<void*>(&slot), noise.data(), sizeof(slot));
    slot.code = static_cast<std::uint16_t>(random() % 40);
    const auto got = wire::read_failure(slot);
    if (!got) continue;
    ASSERT_LE(got->library.size() + got->call.size() + got->code_name.size() + got->message.size(),
              sizeof(slot.bytes) + 64);
  }
}

TEST(WireControl, AMessageIsWholeOrNothing) {
  wire::any_message message;
  const auto good = [&](wire::control kind, std::size_t bytes) {
    message.kind = kind;
    return static_cast<bool>(wire::check_whole(message, bytes));
  };
  EXPECT_TRUE(good(wire::control::hello, sizeof(wire::hello_message)));
  EXPECT_TRUE(good(wire::control::configure, sizeof(wire::configure_message)));
  EXPECT_TRUE(good(wire::control::protect, sizeof(wire::protect_message)));
  EXPECT_TRUE(good(wire::control::failed, sizeof(wire::failed_message)));
  EXPECT_TRUE(good(wire::control::pong, sizeof(wire::plain_message)));
  EXPECT_FALSE(good(wire::control::failed, sizeof(wire::plain_message)));
  EXPECT_FALSE(good(wire::control::hello, sizeof(wire::hello_message) - 1));
  EXPECT_FALSE(good(wire::control::ping, sizeof(wire::plain_message) + 1));
  EXPECT_FALSE(good(wire::control::ping, 3));
  EXPECT_FALSE(good(wire::control{0}, sizeof(wire::plain_message)));
  constexpr auto past_the_last = static_cast<std::uint32_t>(wire::control::serves) + 1;
  EXPECT_FALSE(good(wire::control{past_the_last}, sizeof(wire::plain_message)));
}

TEST(WireControl, CarriesAnAddressRangeAndChangesOfMemoryForEveryPool) {
  auto ends = os::message_socket_pair().value();
  const auto received = [&]<class Message>(const Message& sent) {
    wire::any_message message;
    EXPECT_TRUE(os::send_message(ends.first, std::as_bytes(std::span(&sent, 1))));
    auto got = os::receive_message(ends.second, std::as_writable_bytes(std::span(&message, 1)),
                                   os::wait_mode::non_blocking);
    EXPECT_TRUE(got && wire::check_whole(message, got->bytes));
    return message;
  };
  wire::configure_message sent;
  for (std::uint64_t pool = 0; pool < wire::pool_count; ++pool)
    sent.ranges[pool] = {.base = pool << 40, .bytes = pool + 1};
  const wire::any_message got = received(sent);
  ASSERT_EQ(got.kind, wire::control::configure);
  for (std::uint64_t pool = 0; pool < wire::pool_count; ++pool) {
    EXPECT_EQ(got.configure.ranges[pool].base, pool << 40);
    EXPECT_EQ(got.configure.ranges[pool].bytes, pool + 1);
    const wire::any_message change = received(wire::memory_message{
        .kind = wire::control::map, .pool = static_cast<std::uint32_t>(pool), .version = pool + 9});
    EXPECT_EQ(change.kind, wire::control::map);
    EXPECT_EQ(change.memory.pool, pool);
    EXPECT_EQ(change.memory.version, pool + 9);
  }
}

}  // namespace
}  // namespace troupe
