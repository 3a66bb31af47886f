#include "jit/client/disk_cache.hpp"

#include "unit/jit/jit_sources.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace troupe::jit {
namespace {

namespace fs = std::filesystem;
using testing_jit::cache_folder;

std::vector<std::byte> content(std::size_t bytes, unsigned char first) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::byte>(first + i);
  return made;
}

digest key(unsigned char number) {
  digest made;
  made.bytes.fill(number);
  return made;
}

class JitDiskCache : public testing::Test {
 protected:
  [[nodiscard]] disk_cache open(std::uint64_t most_bytes = 1 << 20) const {
    return disk_cache::open(path().string(), most_bytes).value();
  }
  [[nodiscard]] fs::path path() const { return folder_.path() / "deep" / "kernels"; }
  [[nodiscard]] fs::path file_of(const digest& k) const {
    return path() / (to_string(k) + ".kernel");
  }

  cache_folder folder_;
};

using state = disk_cache::state;

TEST_F(JitDiskCache, GivesBackWhatItKeepsAlsoToAnother) {
  {
    const disk_cache cache = open();
    EXPECT_EQ(cache.find(key(1)).what, state::missing);
    cache.keep(key(1), content(1000, 7));
    cache.keep(key(2), {});
  }
  const disk_cache other = open();
  EXPECT_EQ(other.find(key(1)).content, content(1000, 7));
  EXPECT_EQ(other.find(key(2)).what, state::good);
  struct stat found{};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat(file_of(key(1)).c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
}

TEST_F(JitDiskCache, DropsAnEntryWithAnyByteChanged) {
  const disk_cache cache = open();
  cache.keep(key(1), content(50, 3));
  const auto whole = fs::file_size(file_of(key(1)));
  for (std::uintmax_t at = 0; at < whole; ++at) {
    cache.keep(key(1), content(50, 3));
    {
      std::fstream file(file_of(key(1)), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const int before = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(before ^ 0x10));
    }
    EXPECT_EQ(cache.find(key(1)).what, state::damaged) << "byte " << at;
    EXPECT_EQ(cache.find(key(1)).what, state::missing) << "byte " << at;
  }
}

TEST_F(JitDiskCache, DropsWhatIsCutOffOrLonger) {
  const disk_cache cache = open();
  for (const unsigned bytes : {0u, 10u, 87u, 100u, 137u, 1000u}) {
    cache.keep(key(1), content(50, 3));
    fs::resize_file(file_of(key(1)), bytes);
    EXPECT_EQ(cache.find(key(1)).what, state::damaged) << bytes;
  }
}

TEST_F(JitDiskCache, DropsAnEntryOfAnotherKey) {
  const disk_cache cache = open();
  cache.keep(key(1), content(50, 3));
  fs::rename(file_of(key(1)), file_of(key(2)));
  EXPECT_EQ(cache.find(key(2)).what, state::damaged);
}

TEST_F(JitDiskCache, DropsWhatIsNoFileOrTooLongForTheFolder) {
  const disk_cache cache = open();
  ASSERT_EQ(::mkfifo(file_of(key(1)).c_str(), 0600), 0);
  EXPECT_EQ(cache.find(key(1)).what, state::damaged) << "nobody waits for its writer";
  EXPECT_FALSE(fs::exists(file_of(key(1))));
  // A valid head for a content that does not fit in memory.
  cache.keep(key(2), content(50, 3));
  constexpr std::uint64_t bytes = std::uint64_t{1} << 40;
  std::fstream file(file_of(key(2)), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(16 + 32 + 32);
  file.write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  file.close();
  fs::resize_file(file_of(key(2)), 16 + 32 + 32 + 8 + bytes);
  EXPECT_EQ(cache.find(key(2)).what, state::damaged);
  EXPECT_FALSE(fs::exists(file_of(key(2))));
}

TEST_F(JitDiskCache, FollowsNoLink) {
  const disk_cache cache = open();
  cache.keep(key(1), content(50, 3));
  fs::rename(file_of(key(1)), folder_.path() / "elsewhere");
  fs::create_symlink(folder_.path() / "elsewhere", file_of(key(1)));
  EXPECT_EQ(cache.find(key(1)).what, state::damaged);
  EXPECT_TRUE(fs::exists(folder_.path() / "elsewhere"));
  const auto linked = folder_.path() / "linked";
  fs::create_directory_symlink(path(), linked);
  EXPECT_FALSE(disk_cache::open(linked.string(), 1000));
}

TEST_F(JitDiskCache, RefusesAFolderWithRightsForOthers) {
  (void)open();
  for (const unsigned rights : {0701u, 0710u, 0770u, 0704u, 0777u}) {
    ASSERT_EQ(::chmod(path().c_str(), rights), 0);
    const auto cache = disk_cache::open(path().string(), 1000);
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().code, errc::invalid_argument);
    EXPECT_NE(cache.error().message.find("it must be user"), std::string::npos);
  }
}

TEST_F(JitDiskCache, RefusesAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  (void)open();
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  const auto cache = disk_cache::open(path().string(), 1000);
  ASSERT_FALSE(cache);
  EXPECT_NE(cache.error().message.find("belongs to user 12345"), std::string::npos)
      << cache.error().message;
}

TEST_F(JitDiskCache, MakesRoomByWhatWasUsedLongestAgo) {
  const disk_cache cache = open(3500);
  const auto used_at = [&](const digest& k, time_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file_of(k).c_str(), times, 0), 0);
  };
  cache.keep(key(1), content(1000, 1));
  cache.keep(key(2), content(1000, 2));
  cache.keep(key(3), content(1000, 3));
  used_at(key(1), 100);
  used_at(key(2), 200);
  used_at(key(3), 300);
  EXPECT_EQ(cache.find(key(1)).what, state::good);  // is used now
  cache.keep(key(4), content(1000, 4));
  EXPECT_EQ(cache.find(key(1)).what, state::good);
  EXPECT_EQ(cache.find(key(2)).what, state::missing);
  EXPECT_EQ(cache.find(key(3)).what, state::good);
  EXPECT_EQ(cache.find(key(4)).what, state::good);
}

TEST_F(JitDiskCache, IsWholeForReadersWhileOthersWrite) {
  const auto written = content(20'000, 9);
  {
    constexpr std::size_t writers = 3;
    std::vector<std::jthread> threads;
    threads.reserve(writers);
    for (std::size_t i = 0; i < writers; ++i) {
      threads.emplace_back([&] {
        const disk_cache cache = open();
        for (int round = 0; round < 200; ++round)
          cache.keep(key(1), written);
      });
    }
    const disk_cache cache = open();
    for (int i = 0; i < 500; ++i) {
      const auto entry = cache.find(key(1));
      EXPECT_NE(entry.what, state::damaged);
      if (entry.what != state::good) continue;
      EXPECT_EQ(entry.content, written);
    }
  }
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& one : fs::directory_iterator(path()))
    ++files;
  EXPECT_EQ(files, 1u) << "something unfinished is left";
}

}  // namespace
}  // namespace troupe::jit
