#include "os/message_socket.hpp"

#include "os/shared_memory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

namespace troupe {
namespace {

int open_descriptors() {
  int count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr)
    ++count;
  ::closedir(folder);
  return count;
}

using enum os::wait_mode;

class MessageSocket : public testing::Test {
 protected:
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  os::unique_fd here_;
  os::unique_fd there_;
  void SetUp() override {
    auto pair = os::message_socket_pair().value();
    here_ = std::move(pair.first);
    there_ = std::move(pair.second);
  }
};

TEST_F(MessageSocket, KeepsMessagesApart) {
  ASSERT_TRUE(os::send_message(here_, bytes_of("one")));
  ASSERT_TRUE(os::send_message(here_, bytes_of("three")));
  std::array<std::byte, 64> room;
  EXPECT_EQ(os::receive_message(there_, room, blocking)->bytes, 3u);
  EXPECT_EQ(os::receive_message(there_, room, blocking)->bytes, 5u);
  auto none = os::receive_message(there_, room, non_blocking);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().vendor_code, EAGAIN);
}

TEST_F(MessageSocket, CarriesDescriptorsInOrder) {
  const os::unique_fd one = os::create_shared_memory("one", 4096).value();
  const os::unique_fd two = os::create_shared_memory("two", 8192).value();
  const std::array<int, 2> descriptors{one.get(), two.get()};
  ASSERT_TRUE(os::send_message(here_, bytes_of("x"), descriptors));
  std::array<std::byte, 8> room;
  const auto got = os::receive_message(there_, room, blocking, 2);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->descriptors.size(), 2u);
  EXPECT_EQ(::lseek(got->descriptors[0].get(), 0, SEEK_END), 4096);
  EXPECT_EQ(::lseek(got->descriptors[1].get(), 0, SEEK_END), 8192);
  EXPECT_NE(::fcntl(got->descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(MessageSocket, RefusesAMessageThatIsTooLargeAndKeepsNoDescriptorOfIt) {
  const os::unique_fd memory = os::create_shared_memory("one", 4096).value();
  const std::array<int, 1> descriptors{memory.get()};
  const int before = open_descriptors();
  ASSERT_TRUE(os::send_message(here_, bytes_of("too long for it"), descriptors));
  ASSERT_TRUE(os::send_message(here_, bytes_of("fits")));
  std::array<std::byte, 8> room;
  auto got = os::receive_message(there_, room, blocking);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, errc::protocol_violation);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(os::receive_message(there_, room, blocking)->bytes, 4u) << "the next one is whole";
}

TEST_F(MessageSocket, RefusesMoreDescriptorsThanAMessageCarries) {
  const std::array<int, 65> descriptors{};
  auto sent = os::send_message(here_, bytes_of("x"), descriptors);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, errc::invalid_argument);
}

TEST_F(MessageSocket, TakesNoMoreDescriptorsThanItIsToAndKeepsNone) {
  const os::unique_fd memory = os::create_shared_memory("one", 4096).value();
  const std::vector<int> descriptors(64, memory.get());
  const int before = open_descriptors();
  std::array<std::byte, 8> room;
  for (const std::size_t most : {0u, 1u, 2u, 4u, 62u}) {
    for (const std::size_t sent : {most + 1, most + 2, std::size_t{64}}) {
      ASSERT_TRUE(os::send_message(here_, bytes_of("x"), std::span(descriptors).first(sent)));
      auto got = os::receive_message(there_, room, blocking, most);
      ASSERT_FALSE(got) << sent << " where " << most << " are to be taken";
      EXPECT_EQ(got.error().code, errc::protocol_violation);
      EXPECT_EQ(open_descriptors(), before) << sent << " where " << most << " are to be taken";
    }
  }
}

TEST_F(MessageSocket, WithoutRoomForDescriptorsIsAViolationAndKeepsNone) {
  const os::unique_fd memory = os::create_shared_memory("one", 4096).value();
  const std::array<int, 2> descriptors{memory.get(), memory.get()};
  ASSERT_TRUE(os::send_message(here_, bytes_of("x"), descriptors));
  const int before = open_descriptors();
  rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &all), 0);
  rlimit one_more = all;
  const os::unique_fd next(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  one_more.rlim_cur = static_cast<rlim_t>(next.get()) + 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
  std::array<std::byte, 8> room;
  auto got = os::receive_message(there_, room, blocking, 2);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &all), 0);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, errc::protocol_violation);
  EXPECT_EQ(open_descriptors(), before + 1) << "beside the one that this test has opened";
}

TEST_F(MessageSocket, ASenderThatIsNotToWaitIsNotHeldUpByWhoDoesNotRead) {
  result<void> sent;
  int taken = 0;
  for (; sent && taken < 100'000; ++taken)
    sent = os::send_message(here_, bytes_of("unread"), {}, non_blocking);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().vendor_code, EAGAIN);
  std::array<std::byte, 8> room;
  ASSERT_TRUE(os::receive_message(there_, room, blocking));
  EXPECT_TRUE(os::send_message(here_, bytes_of("room"), {}, non_blocking));
}

TEST_F(MessageSocket, SaysWhenTheOtherSideIsGone) {
  there_.reset();
  std::array<std::byte, 8> room;
  EXPECT_EQ(os::receive_message(here_, room, blocking)->bytes, 0u);
  auto sent = os::send_message(here_, bytes_of("x"));
  ASSERT_FALSE(sent) << "and no SIGPIPE has ended this program";
  EXPECT_EQ(sent.error().vendor_code, EPIPE);
}

}  // namespace
}  // namespace troupe
