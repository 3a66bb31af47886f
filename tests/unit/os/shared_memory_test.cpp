#include "os/shared_memory.hpp"

#include "os/event.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace troupe {
namespace {

TEST(SharedMemory, NobodyCanShrinkOrGrowIt) {
  const os::unique_fd memory = os::create_shared_memory("test", os::page_bytes()).value();
  EXPECT_EQ(::ftruncate(memory.get(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(2 * os::page_bytes())), -1);
}

TEST(SharedMemory, NobodyCanKeepTheNextOneFromMappingIt) {
  const os::unique_fd memory = os::create_shared_memory("test", os::page_bytes()).value();
  for (const int seal : {F_SEAL_WRITE, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL}) {
    EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seal), -1) << seal;
    EXPECT_EQ(errno, EPERM);
  }
  EXPECT_TRUE(os::map(memory, os::page_bytes(), os::protection::read_write));
}

TEST(SharedMemory, IsForItsOwnerAloneAndNotInherited) {
  for (const os::unique_fd& memory :
       {os::create_shared_memory("test", os::page_bytes()).value(),
        os::create_memory_written_here("test", os::page_bytes()).value().memory}) {
    struct stat is{};
    ASSERT_EQ(::fstat(memory.get(), &is), 0);
    EXPECT_EQ(is.st_mode & 07777, S_IRUSR | S_IWUSR);
    EXPECT_NE(::fcntl(memory.get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(SharedMemory, BeyondTheLimitOfAFilesSizeIsRefusedByItsName) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{os::page_bytes(), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_TRUE(os::create_shared_memory("test", os::page_bytes()));
  const auto refused = os::create_shared_memory("test", 2 * os::page_bytes());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::system_error);
  EXPECT_NE(refused.error().message.find("ulimit -f"), std::string::npos)
      << refused.error().to_string();
}

TEST(SharedMemory, IsKeptFromChildren) {
  const os::unique_fd memory = os::create_shared_memory("test", os::page_bytes()).value();
  const os::mapping here = os::map(memory, os::page_bytes(), os::protection::read_write).value();
  ASSERT_TRUE(os::keep_from_children(here.address(), here.bytes()));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  unsigned char resident = 0;
  if (child == 0) ::_exit(::mincore(here.address(), here.bytes(), &resident) == 0 ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child has it";
}

TEST(SharedMemory, WrittenHereIsWrittenNowhereElse) {
  auto made = os::create_memory_written_here("test", os::page_bytes()).value();
  const os::unique_fd& memory = made.memory;
  const os::mapping& writer = made.pages;
  auto second = os::map(memory, os::page_bytes(), os::protection::read_write);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::system_error);
  const os::mapping reader = os::map(memory, os::page_bytes(), os::protection::read).value();
  EXPECT_FALSE(os::protect(reader.address(), reader.bytes(), os::protection::read_write))
      << "a reader made itself a writer";
  const char byte = 'x';
  EXPECT_EQ(::pwrite(memory.get(), &byte, 1, 0), -1);
  EXPECT_EQ(::fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1)
      << "a hole is a write of zeros";
  EXPECT_EQ(::ftruncate(memory.get(), 0), -1);
  writer.address()[0] = std::byte{7};
  EXPECT_EQ(reader.address()[0], std::byte{7});
}

TEST(SharedMemory, ThatWasReceivedIsCheckedBeforeItIsMapped) {
  const std::size_t page = os::page_bytes();
  const auto refused = [](const os::unique_fd& what, std::uint64_t bytes) {
    auto checked = os::check_received(what, bytes);
    return !checked && checked.error().code == errc::protocol_violation;
  };
  const os::unique_fd good = os::create_shared_memory("test", page).value();
  EXPECT_FALSE(refused(good, page));
  EXPECT_TRUE(refused(good, page + 1));
  EXPECT_TRUE(refused(good, ~std::uint64_t{0}));
  EXPECT_FALSE(refused(os::create_memory_written_here("test", page).value().memory, page));

  os::unique_fd unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), static_cast<off_t>(page)), 0);
  EXPECT_TRUE(refused(unsealed, page)) << "it can be taken away";
  ASSERT_EQ(::fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  EXPECT_TRUE(refused(unsealed, page)) << "it can be taken away";

  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const os::unique_fd out(ends[0]);
  const os::unique_fd in(ends[1]);
  EXPECT_TRUE(refused(out, 1));
  EXPECT_TRUE(refused(in, 1));
  EXPECT_TRUE(refused(os::unique_fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 1));
  EXPECT_TRUE(refused(os::unique_fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), 1));
  EXPECT_TRUE(refused(os::unique_fd(::open("/dev/zero", O_RDWR | O_CLOEXEC)), 1));
  EXPECT_TRUE(refused(os::unique_fd(), 1));
}

TEST(Event, IsTakenWithoutWaitingWhateverTheOtherSideMakesOfIt) {
  const os::unique_fd event = os::create_event().value();
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(event.get(), &one, sizeof(one)), 8);
  // The flags are those of all who share the descriptor.
  ASSERT_EQ(::fcntl(event.get(), F_SETFL, 0), 0);
  os::take_event(event);
  pollfd look{.fd = event.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&look, 1, 0), 0) << "it was not taken";
  os::take_event(event);
}

TEST(Event, IsToldFromEverythingElse) {
  EXPECT_TRUE(os::is_event(os::create_event().value()));
  EXPECT_FALSE(os::is_event(os::create_shared_memory("test", 4096).value()));
  EXPECT_FALSE(os::is_event(os::unique_fd(::open("/", O_RDONLY | O_CLOEXEC))));
  EXPECT_FALSE(os::is_event(os::unique_fd()));
}

TEST(SharedMemory, ARangeIsReservedOnce) {
  const std::size_t bytes = 4 * os::page_bytes();
  const os::mapping anywhere = os::reserve(nullptr, bytes).value();
  auto again = os::reserve(anywhere.address() + os::page_bytes(), os::page_bytes());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().vendor_code, EEXIST);
}

TEST(SharedMemory, MapsOverAPartOfAReservedRange) {
  const os::unique_fd memory = os::create_shared_memory("test", os::page_bytes()).value();
  const os::mapping range = os::reserve(nullptr, 2 * os::page_bytes()).value();
  ASSERT_TRUE(os::map_over(memory, os::page_bytes(), os::protection::read_write, range.address()));
  range.address()[0] = std::byte{3};
  const os::mapping view = os::map(memory, os::page_bytes(), os::protection::read).value();
  EXPECT_EQ(view.address()[0], std::byte{3});
}

TEST(SharedMemory, AMappingIsGoneWithItsOwner) {
  std::byte* address = nullptr;
  {
    const os::mapping range = os::reserve(nullptr, os::page_bytes()).value();
    address = range.address();
  }
  EXPECT_TRUE(os::reserve(address, os::page_bytes())) << "the range is still taken";
}

}  // namespace
}  // namespace troupe
