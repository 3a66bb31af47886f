// The memory in which a program keeps data of workers: even if its writers die, a read
// returns published data, or nothing.

#include "wire/blob_memory.hpp"

#include "os/shared_memory.hpp"
#include "worker/process/blob_keeper.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <thread>

namespace troupe {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> bytes(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}
std::vector<std::byte> content(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> made(size);
  for (std::byte& one : made)
    one = static_cast<std::byte>(random());
  return made;
}

/// The memory of a program, mapped by any number of workers.
class BlobMemory : public testing::Test {
 protected:
  static constexpr std::uint64_t size = std::uint64_t{1} << 20;

  [[nodiscard]] os::mapping map() const {
    return os::map(memory_, size, os::protection::read_write).value();
  }

  const os::unique_fd memory_ = os::create_shared_memory("blobs", size).value();
  const os::mapping pages_ = map();
  wire::blob_memory blobs_{pages_.address(), size};
  wire::blob_header* header_ = reinterpret_cast<wire::blob_header*>(pages_.address());
};

TEST_F(BlobMemory, GivesWhatWasPublishedLastUnderAKey) {
  EXPECT_FALSE(blobs_.find(bytes("a")));
  ASSERT_TRUE(blobs_.publish(bytes("a"), content(1000, 1)));
  ASSERT_TRUE(blobs_.publish(bytes("b"), content(0, 2)));
  ASSERT_TRUE(blobs_.publish(bytes("a"), content(10, 3)));
  const os::mapping other = map();
  const wire::blob_memory next(other.address(), size);
  EXPECT_EQ(next.find(bytes("a"))->content, content(10, 3));
  EXPECT_EQ(next.find(bytes("b"))->content, content(0, 2));
  EXPECT_FALSE(next.find(bytes("c")));
  EXPECT_EQ(next.at(0)->key, bytes("a"));
  EXPECT_EQ(next.at(0)->content, content(1000, 1));
  EXPECT_FALSE(next.at(3));
}

TEST_F(BlobMemory, TakesFromSeveralWritersAtOnce) {
  constexpr int writers = 4;
  constexpr int each = 50;
  std::vector<std::jthread> threads;
  for (int w = 0; w < writers; ++w) {
    threads.emplace_back([this, w] {
      const os::mapping own = map();
      wire::blob_memory blobs(own.address(), size);
      for (int i = 0; i < each; ++i) {
        const auto number = static_cast<unsigned>(w * each + i);
        EXPECT_TRUE(blobs.publish(bytes(std::to_string(number)), content(number * 7, number)));
      }
    });
  }
  threads.clear();
  for (unsigned number = 0; number < writers * each; ++number)
    EXPECT_EQ(blobs_.find(bytes(std::to_string(number)))->content, content(number * 7, number))
        << number;
  EXPECT_EQ(blobs_.news().load(), static_cast<unsigned>(writers * each));
}

TEST_F(BlobMemory, RefusesWhatFindsNoRoomAndKeepsTheRest) {
  ASSERT_TRUE(blobs_.publish(bytes("small"), content(100, 1)));
  const auto refused = blobs_.publish(bytes("large"), content(size, 2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
  ASSERT_TRUE(blobs_.publish(bytes("another"), content(100, 3)));
  EXPECT_EQ(blobs_.find(bytes("small"))->content, content(100, 1));
  // As many as there are places.
  std::size_t kept = 2;
  while (blobs_.publish(bytes("n"), {}))
    ++kept;
  EXPECT_EQ(kept, wire::most_blobs);
  EXPECT_EQ(blobs_.find(bytes("another"))->content, content(100, 3));
}

TEST_F(BlobMemory, OfAWriterThatDiesInBetweenIsAsBefore) {
  ASSERT_TRUE(blobs_.publish(bytes("a"), content(100, 1)));
  header_->used.fetch_add(4096);                         // bytes that are never written
  header_->entries[1].what = wire::blob_entry::claimed;  // an entry that is never filled in
  ASSERT_TRUE(blobs_.publish(bytes("b"), content(100, 2)));
  EXPECT_EQ(blobs_.find(bytes("a"))->content, content(100, 1));
  EXPECT_EQ(blobs_.find(bytes("b"))->content, content(100, 2));
  EXPECT_FALSE(blobs_.at(1));
}

TEST_F(BlobMemory, ThatWasScribbledOverGivesWhatIsWholeAndNothingElse) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::memset(pages_.address(), 0, size);
    std::mt19937 random(seed);
    for (unsigned i = 0; i < 8; ++i)
      ASSERT_TRUE(blobs_.publish(bytes(std::to_string(i)), content(300, i)));
    const std::size_t end = sizeof(wire::blob_header) + 8 * 320;
    // In the entries, in the bytes, or anywhere in the header.
    for (unsigned i = 0; i < 1 + seed % 40; ++i) {
      const std::size_t at = seed % 3 == 0   ? random() % (9 * sizeof(wire::blob_entry))
                             : seed % 3 == 1 ? sizeof(wire::blob_header) + random() % (8 * 320)
                                             : random() % end;
      pages_.address()[at] = static_cast<std::byte>(random());
    }
    for (unsigned i = 0; i < 8; ++i) {
      const auto found = blobs_.find(bytes(std::to_string(i)));
      if (found) {
        EXPECT_EQ(found->content, content(300, i));
      }
    }
    for (std::size_t place = 0; place < wire::most_blobs; ++place) {
      const auto found = blobs_.at(place);
      if (!found) continue;
      const unsigned number = static_cast<unsigned>(std::stoul(
          std::string(reinterpret_cast<const char*>(found->key.data()), found->key.size())));
      EXPECT_EQ(found->content, content(300, number));
    }
    (void)blobs_.publish(bytes("more"), content(50, 99));  // it need not find room
  }
}

TEST_F(BlobMemory, IsPublishedAgainWhereItWasDamaged) {
  ASSERT_TRUE(blobs_.publish(bytes("a"), content(100, 1)));
  pages_.address()[sizeof(wire::blob_header) + 50] ^= std::byte{1};
  EXPECT_FALSE(blobs_.find(bytes("a")));
  ASSERT_TRUE(blobs_.publish(bytes("a"), content(100, 1)));
  EXPECT_EQ(blobs_.find(bytes("a"))->content, content(100, 1));
}

/// The same with a folder.
class BlobKeeper : public BlobMemory {
 protected:
  BlobKeeper() {
    std::filesystem::remove_all(path_);
    ::setenv("XDG_CACHE_HOME", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~BlobKeeper() override { std::filesystem::remove_all(path_); }
  worker::blob_keeper keeper() {
    return worker::blob_keeper(map(), worker::blob_keeper::kept_in::memory_and_folder);
  }
  void forget() { std::memset(pages_.address(), 0, size); }
  /// The answer of another worker, which ends then.
  template <class Ask>
  int as_another(Ask ask) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto other = keeper();
      ::_exit(ask(other) ? 1 : 0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }

  const std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / ("blobs-" + std::to_string(::getpid()));
};

TEST_F(BlobKeeper, FindsInTheFolderWhatTheProgramHasNot) {
  auto first = keeper();
  ASSERT_TRUE(first.publish(bytes("a"), content(1000, 1)));
  forget();
  auto next = keeper();
  EXPECT_EQ(next.find(bytes("a")), content(1000, 1));
  EXPECT_FALSE(next.find(bytes("b")));
}

TEST_F(BlobKeeper, GivesWhatIsLoadedToOthersWhenItHasLoaded) {
  auto first = keeper();
  ASSERT_TRUE(first.publish(bytes("a"), content(1000, 1)));
  forget();
  auto loader = keeper();
  EXPECT_EQ(loader.find(bytes("a")), content(1000, 1));
  EXPECT_FALSE(blobs_.find(bytes("a"))) << "it has not proved good";
  ASSERT_TRUE(loader.begin_loading(bytes("a"), content(1000, 1)));
  EXPECT_EQ(as_another([](auto& other) { return other.find(bytes("a")) || other.at(0); }), 0);
  const std::uint32_t before = loader.news();
  loader.end_loading(bytes("a"), true);
  EXPECT_NE(loader.news(), before) << "those that have passed it by look again";
  EXPECT_EQ(as_another([](auto& other) {
              return other.at(0)->content == content(1000, 1) &&
                     other.begin_loading(bytes("a"), content(1000, 1));
            }),
            1);
}

TEST_F(BlobKeeper, DropsWhatIsNoGood) {
  auto first = keeper();
  ASSERT_TRUE(first.publish(bytes("a"), content(1000, 1)));
  ASSERT_TRUE(first.begin_loading(bytes("a"), content(1000, 1)));
  first.end_loading(bytes("a"), false);
  EXPECT_FALSE(first.find(bytes("a")));
  EXPECT_FALSE(first.at(0));
  EXPECT_TRUE(std::filesystem::is_empty(path_ / "troupe" / "blobs"));
}

TEST_F(BlobKeeper, GivesNobodyWhatAWorkerDiedOfLoading) {
  auto first = keeper();
  for (const bool in_memory : {true, false}) {
    SCOPED_TRACE(in_memory);
    ASSERT_TRUE(first.publish(bytes("a"), content(1000, 1)));
    if (!in_memory) forget();
    ASSERT_EQ(as_another([](auto& other) {
                return other.find(bytes("a")) && other.begin_loading(bytes("a"), content(1000, 1));
              }),
              1);
    EXPECT_FALSE(first.begin_loading(bytes("a"), content(1000, 1)));
    if (in_memory) {
      EXPECT_FALSE(first.at(0));
    } else {
      EXPECT_FALSE(first.find(bytes("a")));
    }
    EXPECT_TRUE(std::filesystem::is_empty(path_ / "troupe" / "blobs")) << "nor later programs";
    // A blob made again is a different one.
    ASSERT_TRUE(first.publish(bytes("a"), content(500, 2)));
    EXPECT_EQ(first.find(bytes("a")), content(500, 2));
    EXPECT_TRUE(first.begin_loading(bytes("a"), content(500, 2)));
    forget();
  }
}

TEST_F(BlobKeeper, DropsAFileThatIsDamaged) {
  auto first = keeper();
  ASSERT_TRUE(first.publish(bytes("a"), content(1000, 1)));
  forget();
  for (const auto& one : std::filesystem::directory_iterator(path_ / "troupe" / "blobs")) {
    std::fstream file(one.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(500);
    file.put('x');
  }
  EXPECT_FALSE(keeper().find(bytes("a")));
  EXPECT_TRUE(std::filesystem::is_empty(path_ / "troupe" / "blobs"));
}

TEST_F(BlobKeeper, UsesNoFolderThatOthersMayWrite) {
  std::filesystem::create_directories(path_ / "troupe" / "blobs");
  std::filesystem::permissions(path_ / "troupe" / "blobs", std::filesystem::perms::all);
  auto kept = keeper();
  ASSERT_TRUE(kept.publish(bytes("a"), content(10, 1)));
  EXPECT_TRUE(std::filesystem::is_empty(path_ / "troupe" / "blobs"));
  EXPECT_EQ(kept.find(bytes("a")), content(10, 1));
}

TEST_F(BlobKeeper, WakesWhoWaitsForMore) {
  auto waiting = keeper();
  auto other = keeper();
  const std::uint32_t before = waiting.news();
  const auto begin = std::chrono::steady_clock::now();
  waiting.await_news(before, 1ms);
  EXPECT_EQ(waiting.news(), before);
  const std::jthread publisher([&] {
    std::this_thread::sleep_for(20ms);
    ASSERT_TRUE(other.publish(bytes("a"), content(10, 1)));
  });
  while (waiting.news() == before && std::chrono::steady_clock::now() - begin < 10s)
    waiting.await_news(before, 20s);
  EXPECT_NE(waiting.news(), before);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

}  // namespace
}  // namespace troupe
