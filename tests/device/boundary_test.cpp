// The boundary between a device and its workers: read from outside, as the system sees it.

#include "device/fixtures/operations.hpp"
#include "device/fixtures/programs.hpp"
#include "under_sanitizers.hpp"

#include <troupe/lane/marker.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

namespace fs = std::filesystem;

/// An open descriptor of a process, as /proc shows it.
struct shown {
  int number = -1;
  std::string what;
  fs::path path;
  [[nodiscard]] bool is_memory() const { return what.starts_with("/memfd:troupe-"); }
};

std::vector<shown> descriptors_of(const std::string& process) {
  std::vector<shown> all;
  for (const auto& one : fs::directory_iterator("/proc/" + process + "/fd")) {
    std::error_code gone;
    const fs::path what = fs::read_symlink(one.path(), gone);
    if (!gone) {
      all.push_back({std::stoi(one.path().filename().string()), what.string(), one.path()});
    }
  }
  std::ranges::sort(all, {}, &shown::number);
  return all;
}

/// A device with both its workers ready.
class Boundary : public testing::Test {
 protected:
  Boundary() : gpu_(system_.device(0, permissive())) {
    EXPECT_TRUE(gpu_.wait_until_ready());
    EXPECT_TRUE(eventually([this] { return gpu_.health().standby_ready; }));
    workers_ = {std::to_string(gpu_.worker_pid().value()),
                std::to_string(gpu_.health().standby_pid.value())};
  }

  ~Boundary() override { fs::remove_all(cache_); }

  // This test's own, in which workers keep their data.
  const fs::path cache_ =
      fs::canonical(testing::TempDir()) / ("troupe-boundary-" + std::to_string(::getpid()));
  const int named_ =
      ::setenv("XDG_CACHE_HOME", cache_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  // One that is not close-on-exec, as programs have.
  const int leaky_ = ::open("/dev/zero", O_RDONLY);  // NOLINT(android-cloexec-open)
  troupe::system system_;
  device gpu_;
  std::vector<std::string> workers_;
};

TEST_F(Boundary, EveryMemoryIsSealedAndForItsOwnerAlone) {
  std::map<std::string, int> seen;
  for (const shown& one : descriptors_of("self")) {
    if (!one.is_memory()) continue;
    const std::string name = one.what.substr(0, one.what.find(' '));
    ++seen[name];
    const int seals = ::fcntl(one.number, F_GET_SEALS);
    const int fixed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    EXPECT_EQ(seals, name == "/memfd:troupe-mailbox" ? fixed | F_SEAL_FUTURE_WRITE : fixed) << name;
    struct stat is{};
    ASSERT_EQ(::fstat(one.number, &is), 0);
    EXPECT_EQ(is.st_mode & 0777, 0600u) << name;
    EXPECT_EQ(is.st_nlink, 0u) << name << " has a name in a folder";
    EXPECT_NE(::fcntl(one.number, F_GETFD) & FD_CLOEXEC, 0) << name;
  }
  EXPECT_EQ(seen["/memfd:troupe-mailbox"], 1);
  EXPECT_EQ(seen["/memfd:troupe-doorbells"], 1);
  EXPECT_EQ(seen["/memfd:troupe-worker"], 2);
  EXPECT_GE(seen["/memfd:troupe-memory"], on_gpu() ? 1 : 2);
  EXPECT_EQ(seen["/memfd:troupe-blobs"], 1);
  EXPECT_EQ(seen.size(), 5u) << "another kind of memory";
}

TEST_F(Boundary, WorkersKeepOpenASocketAnEventAndTheFolderOfBlobs) {
  if (on_gpu()) GTEST_SKIP() << "a driver opens what it likes";
  ASSERT_GE(leaky_, 0);
  const auto opened_by = [](const std::string& worker) {
    std::multiset<std::string> kinds;
    for (const shown& one : descriptors_of(worker)) {
      if (one.number > STDERR_FILENO) kinds.insert(one.what.substr(0, one.what.find(":[")));
      if (one.what.starts_with("anon_inode")) {
        EXPECT_EQ(one.what, "anon_inode:[eventfd]");
      }
    }
    return kinds;
  };
  const std::multiset<std::string> always{"anon_inode", "socket"};
  for (const std::string& worker : workers_)
    EXPECT_EQ(opened_by(worker), always);
  ASSERT_TRUE(gpu_.ask(keep{.key = "plan", .text = "steps"}).get_result());
  std::multiset<std::string> with_blobs = always;
  with_blobs.insert((cache_ / "troupe" / "blobs").string());
  EXPECT_EQ(opened_by(workers_[0]), with_blobs);
}

TEST_F(Boundary, WorkersShareTheirEventAndTheirSegmentWithNobodyElse) {
  std::map<std::string, std::set<std::string>> segments;  // inode, and who maps it
  for (const std::string& worker : workers_) {
    std::ifstream maps("/proc/" + worker + "/maps");
    for (std::string line; std::getline(maps, line);) {
      std::istringstream words(line);
      std::string range;
      std::string rights;
      std::string offset;
      std::string device;
      std::string inode;
      std::string name;
      words >> range >> rights >> offset >> device >> inode >> name;
      if (name == "/memfd:troupe-mailbox") {
        EXPECT_EQ(rights, "r--s") << worker;
      }
      if (name == "/memfd:troupe-worker") segments[inode].insert(worker);
    }
  }
  EXPECT_EQ(segments.size(), workers_.size());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:troupe-worker") == std::string::npos) continue;
    EXPECT_NE(line.find("r--s"), std::string::npos) << "the program writes no marks: " << line;
  }
}

TEST_F(Boundary, NothingHasANameThatOthersCouldOpen) {
  for (const auto& one : fs::directory_iterator("/dev/shm"))
    EXPECT_EQ(one.path().string().find("troupe"), std::string::npos) << one.path();
  std::set<std::string> sockets;
  for (const shown& one : descriptors_of("self")) {
    if (one.what.starts_with("socket:[")) {
      sockets.insert(one.what.substr(8, one.what.size() - 9));
    }
  }
  EXPECT_GE(sockets.size(), workers_.size());
  std::ifstream table("/proc/net/unix");
  std::string line;
  std::getline(table, line);  // its heading
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::vector<std::string> columns;
    for (std::string word; words >> word;)
      columns.push_back(word);
    constexpr std::size_t inode = 6;
    if (columns.size() <= inode || !sockets.contains(columns[inode])) continue;
    if (line.find(" @cuda-") != std::string::npos) continue;  // the driver's own
    EXPECT_EQ(columns.size(), inode + 1) << "a socket with a name: " << line;
  }
}

TEST_F(Boundary, AWorkerThatIsReplacedLeavesNothingOpenInTheProgram) {
  const auto count = [] { return descriptors_of("self").size(); };
  const auto settled = [&] { return eventually([this] { return gpu_.health().standby_ready; }); };
  const std::size_t before = count();
  for (int i = 0; i < 5; ++i) {
    kill_worker(gpu_);
    EXPECT_TRUE(gpu_.ask(lane::marker{}).get_result());
    ASSERT_TRUE(settled());
  }
  EXPECT_TRUE(eventually([&] { return count() == before; })) << count() << " after " << before;
}

TEST(BoundaryOfAProgram, ThatForksHasADeviceInOneProcessAndATypedErrorInTheOther) {
  if (under_sanitizers) GTEST_SKIP() << "they start no threads in a forked process";
  const pid_t pid = start_program("forked", -1);
  int status = -1;
  ASSERT_TRUE(eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; },
                         std::chrono::seconds(30)));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(BoundaryOfAProgram, ThatForksKeepsWhatIsLentToIt) {
  if (under_sanitizers) GTEST_SKIP() << "they start no threads in a forked process";
  if (on_gpu()) GTEST_SKIP() << "mapping takes a context there";
  const pid_t pid = start_program("forked_mapper", -1);
  int status = -1;
  ASSERT_TRUE(eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; },
                         std::chrono::seconds(30)));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace troupe::test
