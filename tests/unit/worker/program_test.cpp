// A worker trusts its program as little as the program trusts it: an invalid message ends it, with
// a reason and no crash.

#include "device/mailbox/mailbox.hpp"
#include "os/event.hpp"
#include "os/message_socket.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"
#include "wire/blob_memory.hpp"
#include "wire/control.hpp"
#include "wire/reply.hpp"
#include "worker/process/worker_argument.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr int timeout_ms = 60'000;
constexpr std::uint64_t space_bytes = std::uint64_t{1} << 20;

class HostileProgram : public testing::Test {
 protected:
  void SetUp() override { start(); }

  /// A worker that has said hello.
  void start() {
    auto pair = os::message_socket_pair().value();
    child_ =
        os::child_process::spawn({TROUPE_WORKER, std::string(worker::worker_argument)}, pair.second)
            .value();
    control_ = std::move(pair.first);
    pair.second.reset();
    ASSERT_EQ(next(), wire::control::hello);
  }

  /// The kind of the worker's next message, or none when it has ended.
  std::optional<wire::control> next() {
    pollfd entry{.fd = control_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, timeout_ms) != 1) return std::nullopt;
    auto got = os::receive_message(control_, std::as_writable_bytes(std::span(&heard_, 1)),
                                   os::wait_mode::non_blocking);
    // It closed without having read all; what it sent before comes next.
    if (!got && got.error().vendor_code == ECONNRESET) return next();
    if (!got || got->bytes == 0) return std::nullopt;
    return heard_.kind;
  }

  template <class Message>
  void say(const Message& message, const std::vector<int>& descriptors = {}) {
    (void)os::send_message(control_, std::as_bytes(std::span(&message, 1)), descriptors);
  }

  [[nodiscard]] wire::configure_message good() const {
    wire::configure_message message;
    message.lane_threads = 2;
    message.worker = 1;
    message.mailbox_bytes = mailbox_->total_bytes();
    // The region of pools, which is free under every sanitizer.
    message.ranges[0] = {0x7e90'0000'0000, space_bytes};
    message.ranges[1] = {0x7e90'4000'0000, space_bytes};
    return message;
  }
  [[nodiscard]] std::vector<int> good_descriptors() const {
    return {mailbox_->memory().get(), mailbox_->bell_memory().get(), segment_.get(), event_.get(),
            blobs_.get()};
  }
  void configure() { say(good(), good_descriptors()); }

  void expect_refused(const std::string& what) {
    std::optional<wire::control> word = next();
    while (word && *word != wire::control::failed)
      word = next();
    EXPECT_EQ(word, wire::control::failed) << what;
    if (word) {
      const auto why = wire::read_failure(heard_.failed.why);
      EXPECT_TRUE(why && why->code == errc::protocol_violation)
          << what << ": " << (why ? why->to_string() : "no word");
    }
    control_.reset();
    const os::exit_report end = child_.reap();
    EXPECT_FALSE(end.signalled) << what << ": signal " << end.code;
    EXPECT_EQ(end.code, 1) << what;
  }

  template <class Message>
  void expect_refused(const std::string& what, const Message& message,
                      const std::vector<int>& descriptors = {}) {
    say(message, descriptors);
    expect_refused(what);
    ASSERT_NO_FATAL_FAILURE(start());
  }

  static constexpr std::uint32_t capacity = 16;
  std::unique_ptr<mailbox> mailbox_ = mailbox::create(capacity, 4096).value();
  os::unique_fd segment_ =
      os::create_shared_memory("segment", wire::worker_segment_bytes(capacity)).value();
  os::unique_fd event_ = os::create_event().value();
  os::unique_fd blobs_ = os::create_shared_memory("blobs", wire::blob_memory_bytes).value();
  os::unique_fd memory_ = os::create_shared_memory("memory", space_bytes).value();
  os::unique_fd control_;
  os::child_process child_;
  wire::any_message heard_;
};

TEST_F(HostileProgram, WouldBeServedIfItWereNone) {
  configure();
  say(wire::memory_message{.kind = wire::control::map, .bytes = space_bytes, .version = 1},
      {memory_.get()});
  say(wire::plain_message{.kind = wire::control::begin, .id = 1});
  std::optional<wire::control> word = next();
  while (word == wire::control::warm)
    word = next();
  EXPECT_EQ(word, wire::control::ready);
  say(wire::protect_message{.read_only = 1, .id = 1, .offset = 0, .bytes = 4096});
  EXPECT_EQ(next(), wire::control::protect_done);
  EXPECT_EQ(heard_.plain.code, 0u);
  say(wire::plain_message{.kind = wire::control::ping, .id = 7});
  EXPECT_EQ(next(), wire::control::pong);
  control_.reset();
  EXPECT_EQ(child_.reap().code, 0);
}

TEST_F(HostileProgram, WithTooFewOrTooManyDescriptorsIsRefused) {
  const std::vector<int> five = good_descriptors();
  for (const std::ptrdiff_t count : {0, 1, 3, 4})
    expect_refused(std::to_string(count), good(), {five.begin(), five.begin() + count});
  std::vector<int> six = five;
  six.push_back(five.back());
  expect_refused("6", good(), six);
  expect_refused("64", good(), std::vector<int>(64, event_.get()));
  configure();
  expect_refused("a map without", wire::memory_message{.kind = wire::control::map, .bytes = 4096});
  configure();
  expect_refused("a map with two", wire::memory_message{.kind = wire::control::map, .bytes = 4096},
                 {memory_.get(), memory_.get()});
  expect_refused("a ping with one", wire::plain_message{.kind = wire::control::ping},
                 {memory_.get()});
}

TEST_F(HostileProgram, WithDescriptorsOfAnotherKindIsRefused) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const os::unique_fd out(ends[0]);
  const os::unique_fd in(ends[1]);
  const os::unique_fd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const os::unique_fd zeros(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const os::unique_fd small = os::create_shared_memory("small", 64).value();
  const os::unique_fd unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), std::int64_t{64} << 20), 0);
  for (const os::unique_fd* wrong : {&out, &in, &folder, &zeros, &small, &unsealed}) {
    for (std::size_t place = 0; place < wire::configure_descriptors; ++place) {
      std::vector<int> descriptors = good_descriptors();
      descriptors[place] = wrong->get();
      expect_refused("place " + std::to_string(place), good(), descriptors);
    }
    configure();
    expect_refused("memory", wire::memory_message{.kind = wire::control::map, .bytes = space_bytes},
                   {wrong->get()});
  }
}

TEST_F(HostileProgram, WhoseNumbersCannotBeIsRefused) {
  const auto with = [&](const std::string& what, auto&& spoil) {
    wire::configure_message message = good();
    spoil(message);
    expect_refused(what, message, good_descriptors());
  };
  with("no threads", [](auto& m) { m.lane_threads = 0; });
  with("threads without end", [](auto& m) { m.lane_threads = 0xffff'ffff; });
  with("no mailbox", [](auto& m) { m.mailbox_bytes = 0; });
  with("a mailbox too long", [](auto& m) { ++m.mailbox_bytes; });
  with("a mailbox without end", [](auto& m) { m.mailbox_bytes = ~std::uint64_t{0}; });
  with("a range off its pages", [](auto& m) { m.ranges[0].base += 8; });
  with("a range beyond all", [](auto& m) { m.ranges[1].bytes = ~std::uint64_t{0}; });
  with("the last peer's off its pages", [](auto& m) { m.ranges[wire::pool_count - 1].base = 8; });
}

TEST_F(HostileProgram, WhoseMailboxIsNoneIsRefused) {
  std::mt19937_64 random(11);
  const std::size_t bytes = mailbox_->total_bytes();
  for (int round = 0; round < 12; ++round) {
    const os::unique_fd fake = os::create_shared_memory("mailbox", bytes).value();
    const os::mapping pages = os::map(fake, bytes, os::protection::read_write).value();
    auto* const header = ::new (pages.address()) wire::mailbox_header();
    header->geometry = mailbox_->shared()->geometry;
    std::uint32_t* const fields = &header->geometry.capacity;
    // One of its fields, or everything.
    if (round < 10) {
      fields[round] = static_cast<std::uint32_t>(random() | 0x8000'0001);
    } else {
      for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        const std::uint64_t word = random();
        std::memcpy(pages.address() + i, &word, sizeof(word));
      }
    }
    std::vector<int> descriptors = good_descriptors();
    descriptors[0] = fake.get();
    say(good(), descriptors);
    expect_refused("field " + std::to_string(round),
                   wire::plain_message{.kind = wire::control::begin, .id = 1});
  }
}

TEST_F(HostileProgram, ThatSpeaksOutOfTurnIsRefused) {
  using wire::control;
  expect_refused("begin", wire::plain_message{.kind = control::begin});
  expect_refused("share", wire::memory_message{.kind = control::share});
  expect_refused("unmap", wire::memory_message{.kind = control::unmap});
  expect_refused("protect", wire::protect_message{});
  configure();
  expect_refused("a second configuration", good(), good_descriptors());
  configure();
  say(wire::plain_message{.kind = control::begin, .id = 1});
  expect_refused("a second beginning", wire::plain_message{.kind = control::begin, .id = 1});
  configure();
  say(wire::plain_message{.kind = control::begin, .id = 1});
  expect_refused("a late configuration", good(), good_descriptors());
  for (const control kind : {control::ready, control::warm, control::pong, control::protect_done})
    expect_refused("what workers say", wire::plain_message{.kind = kind});
  expect_refused("hello", wire::hello_message{});
  expect_refused("failed", wire::failed_message{});
  expect_refused("missing", wire::missing_message{});
}

TEST_F(HostileProgram, WhoseMemoryLiesElsewhereIsRefused) {
  using wire::control;
  using wire::memory_message;
  const auto map = [&](const std::string& what, const memory_message& message) {
    configure();
    expect_refused(
        what, message,
        message.kind == control::map ? std::vector<int>{memory_.get()} : std::vector<int>{});
  };
  constexpr std::uint64_t all = ~std::uint64_t{0};
  for (const std::uint32_t pool : {2u, 65u, 66u, 255u, 256u, ~0u}) {
    const std::string number = std::to_string(pool);
    map("pool " + number, {.kind = control::map, .pool = pool, .bytes = 4096});
    map("nothing of pool " + number, {.kind = control::map, .pool = pool});
    map("less of pool " + number, {.kind = control::unmap, .pool = pool, .bytes = 4096});
  }
  map("beyond the range", {.kind = control::map, .offset = space_bytes, .bytes = 4096});
  map("around all addresses", {.kind = control::map, .offset = all - 4095, .bytes = 4096});
  map("without end", {.kind = control::map, .bytes = all});
  map("what is not unmapped", {.kind = control::unmap, .bytes = 4096});
  map("shared beyond", {.kind = control::share, .pool = wire::host_pool, .bytes = space_bytes + 1});
  configure();
  expect_refused("rights beyond", wire::protect_message{.offset = space_bytes, .bytes = 4096});
  configure();
  expect_refused("rights around", wire::protect_message{.offset = 4096, .bytes = all});
}

TEST_F(HostileProgram, WhoseMessagesAreNoneIsRefused) {
  std::mt19937_64 random(3);
  for (const std::size_t bytes : {1u, 3u, 4u, 15u, 17u, 2'047u, 2'049u, 60'000u}) {
    std::vector<std::uint8_t> noise(bytes);
    for (std::uint8_t& b : noise)
      b = static_cast<std::uint8_t>(random() | 0x80);
    ASSERT_TRUE(os::send_message(control_, std::as_bytes(std::span(noise))));
    expect_refused(std::to_string(bytes));
    ASSERT_NO_FATAL_FAILURE(start());
  }
  wire::any_message half;
  half.kind = wire::control::configure;
  ASSERT_TRUE(os::send_message(
      control_, std::as_bytes(std::span(&half, 1)).first(sizeof(wire::configure_message) - 1)));
  expect_refused("half a configuration");
}

}  // namespace
}  // namespace troupe
