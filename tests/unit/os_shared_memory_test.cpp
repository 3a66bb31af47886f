#include "os/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

namespace troupe {
namespace {

TEST(SharedMemory, NobodyCanShrinkOrGrowIt) {
  const os::unique_fd memory = os::create_shared_memory("test", os::page_bytes()).value();
  EXPECT_EQ(::ftruncate(memory.get(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(2 * os::page_bytes())), -1);
}

TEST(SharedMemory, SealedAgainstFutureWritesOnlyOldMappingsWrite) {
  const os::unique_fd memory = os::create_shared_memory("test", os::page_bytes()).value();
  const os::mapping writer = os::map(memory, os::page_bytes(), os::protection::read_write).value();
  ASSERT_TRUE(os::seal_future_writes(memory));
  auto second = os::map(memory, os::page_bytes(), os::protection::read_write);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::system_error);
  const os::mapping reader = os::map(memory, os::page_bytes(), os::protection::read).value();
  EXPECT_FALSE(os::protect(reader.address(), reader.bytes(), os::protection::read_write))
      << "a reader made itself a writer";
  const char byte = 'x';
  EXPECT_EQ(::pwrite(memory.get(), &byte, 1, 0), -1);
  writer.address()[0] = std::byte{7};
  EXPECT_EQ(reader.address()[0], std::byte{7});
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
