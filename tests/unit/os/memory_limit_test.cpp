#include "os/limits.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace troupe::os {
namespace {

namespace fs = std::filesystem;

/// A folder of control groups.
class OsMemoryLimit : public testing::Test {
 protected:
  ~OsMemoryLimit() override { fs::remove_all(groups_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((groups_ / file).parent_path());
    std::ofstream(groups_ / file) << text;
  }
  std::optional<std::uint64_t> limit(std::string_view of) {
    return memory_limit_of_groups(of, groups_);
  }

  fs::path groups_ =
      fs::temp_directory_path() / ("troupe-control-groups-" + std::to_string(::getpid()));
};

TEST_F(OsMemoryLimit, IsTheLeastOfTheGroupAndThoseAroundIt) {
  write("memory.max", "max\n");
  write("a/memory.max", "1000\n");
  write("a/b/memory.max", "3000\n");
  write("a/b/c/memory.max", "max\n");
  write("a/d/memory.max", "500\n");
  EXPECT_EQ(limit("0::/a/b/c\n"), 1000u);
  EXPECT_EQ(limit("0::/a/d\n"), 500u);
  EXPECT_EQ(limit("0::/\n"), std::nullopt);
}

TEST_F(OsMemoryLimit, IsThatOfTheMemoryControllerInVersionOne) {
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("memory/docker/x/memory.limit_in_bytes", "2000\n");
  write("cpu/docker/x/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(limit("12:cpu,cpuacct:/docker/x\n5:memory:/docker/x\n1:name=systemd:/docker/x\n"),
            2000u);
  EXPECT_EQ(limit("5:hugetlb,memory:/docker\n"), 9223372036854771712u);
}

TEST_F(OsMemoryLimit, OfAContainerIsFoundWhereItsOwnGroupIsMounted) {
  write("memory.max", "4096\n");
  EXPECT_EQ(limit("0::/system.slice/docker-1234.scope\n"), 4096u);
  EXPECT_EQ(limit("0::/../outside\n"), 4096u);
}

TEST_F(OsMemoryLimit, IsNoneWhereTheFilesSayNothing) {
  EXPECT_EQ(limit(""), std::nullopt);
  EXPECT_EQ(limit("0::/a\n"), std::nullopt);
  EXPECT_EQ(limit("nonsense\n0:\n:\n"), std::nullopt);
  write("memory.max", "12 apples");
  EXPECT_EQ(limit("0::/\n"), 12u);
  write("memory.max", "apples");
  EXPECT_EQ(limit("0::/\n"), std::nullopt);
  write("memory.max", "99999999999999999999999");
  EXPECT_EQ(limit("0::/\n"), std::nullopt);
}

TEST_F(OsMemoryLimit, OfProcessorsIsTheLeastOfTheGroupAndThoseAroundItToo) {
  const auto processors = [&](std::string_view of) {
    return processor_limit_of_groups(of, groups_);
  };
  write("a/cpu.max", "250000 100000\n");
  write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(processors("0::/a/b\n"), 2.5);
  EXPECT_EQ(processors("0::/c\n"), std::nullopt);
  write("cpu/x/cpu.cfs_quota_us", "50000\n");
  write("cpu/x/cpu.cfs_period_us", "100000\n");
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors("4:cpu,cpuacct:/x\n5:memory:/x\n"), 0.5);
}

TEST(OsMemory, ThatCanBeUsedIsNoMoreThanTheMachines) {
  const auto machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_GT(usable_memory_bytes(), 0u);
  EXPECT_LE(usable_memory_bytes(), machine);
}

}  // namespace
}  // namespace troupe::os
