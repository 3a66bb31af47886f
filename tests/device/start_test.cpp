// A device that cannot start says why, and a program that comes to it later can.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

// A device whose worker is this program in the given mood; see fake_worker.hpp.
class moody_worker {
 public:
  explicit moody_worker(const char* mood) { ::setenv("TROUPE_TEST_WORKER", mood, 1); }
  moody_worker(const moody_worker&) = delete;
  moody_worker& operator=(const moody_worker&) = delete;
  ~moody_worker() { ::unsetenv("TROUPE_TEST_WORKER"); }
};

TEST(Start, WithoutAWorkerFileNamesThePath) {
  troupe::system system;
  device_config config = permissive();
  config.worker_path = "/nowhere/troupe-worker";
  device gpu = system.device(0, config);
  auto outcome = gpu.ask(lane::marker{}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::worker_not_found);
  EXPECT_NE(outcome.error().message.find("/nowhere/troupe-worker"), std::string::npos);
  EXPECT_EQ(gpu.health().state, device_state::stopped);
}

TEST(Start, OfAWorkerFileThatCannotBeExecutedNamesThePath) {
  const std::string path = ::testing::TempDir() + "troupe-worker-" + std::to_string(::getpid());
  std::ofstream(path) << "not a program";
  troupe::system system;
  device_config config = permissive();
  config.worker_path = path;
  device gpu = system.device(0, config);
  auto outcome = gpu.ask(lane::marker{}).get_result();
  std::remove(path.c_str());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::worker_not_found);
  EXPECT_NE(outcome.error().message.find(path), std::string::npos) << outcome.error().message;
}

TEST(Start, OfAProgramThatIsNoWorkerNamesIt) {
  const std::string waits = ::testing::TempDir() + "waits-" + std::to_string(::getpid());
  std::ofstream(waits) << "#!/bin/sh\nexec sleep 10";
  std::filesystem::permissions(waits, std::filesystem::perms::owner_all);
  for (const std::string& path : {std::string("/bin/true"), waits}) {
    troupe::system system;
    device_config config = permissive();
    config.worker_path = path;
    config.restarts = {.restarts = 1};
    config.start_timeout = 100ms;
    device gpu = system.device(0, config);
    auto outcome = gpu.ask(lane::marker{}).get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_unavailable);
    EXPECT_NE(outcome.error().message.find(path), std::string::npos) << outcome.error().message;
    EXPECT_NE(outcome.error().message.find("is it a worker"), std::string::npos);
  }
  std::remove(waits.c_str());
}

TEST(Start, WithoutABackendFileSaysWhatTheLoaderSays) {
  troupe::system system;
  device_config config = permissive();
  config.backend_path = "/nowhere/libtroupe-cpu.so";
  for (const isolation where : {isolation::process, isolation::thread}) {
    config.isolation = where;
    device gpu = system.device(where == isolation::process ? 0 : 1, config);
    auto outcome = gpu.ask(lane::marker{}).get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::library_missing);
    EXPECT_NE(outcome.error().message.find("/nowhere/libtroupe-cpu.so"), std::string::npos);
  }
}

// As an installation that was interrupted leaves it. The loader itself would crash.
TEST(Start, WithHalfABackendFileSaysThatItIsCut) {
  const std::string half = ::testing::TempDir() + "half-" + std::to_string(::getpid()) + ".so";
  const std::string whole = "/proc/self/exe";  // any file of the loader's format
  std::error_code failed;
  std::filesystem::copy_file(whole, half, std::filesystem::copy_options::overwrite_existing,
                             failed);
  ASSERT_FALSE(failed) << failed.message();
  std::filesystem::resize_file(half, 64 << 10);
  for (const bool as_backend : {true, false}) {
    if (!as_backend && on_gpu()) continue;  // a plugin's part for CUDA is another file
    troupe::system system;
    device_config config = permissive();
    if (as_backend) {
      config.backend_path = half;
    } else {
      config.plugins = {half};
    }
    device gpu = system.device(0, config);
    const auto outcome = gpu.ask(lane::marker{}).get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::library_missing) << outcome.error().to_string();
    EXPECT_NE(outcome.error().message.find("the file is truncated"), std::string::npos)
        << outcome.error().message;
  }
  std::remove(half.c_str());
}

TEST(Start, OfAWorkerOfAnotherVersionNamesBoth) {
  const moody_worker mood("other_version");
  troupe::system system;
  device gpu = system.device(0, permissive());
  auto outcome = gpu.ask(lane::marker{}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::version_mismatch);
  EXPECT_NE(outcome.error().message.find("0.0.1"), std::string::npos);
  EXPECT_NE(outcome.error().message.find("77"), std::string::npos);
}

TEST(Start, OfAProgramThatForgetsWorkerEntryNamesTheRemedy) {
  const moody_worker mood("makes_a_device");
  troupe::system system;
  device gpu = system.device(0, permissive());
  auto outcome = gpu.ask(lane::marker{}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::worker_not_found) << outcome.error().to_string();
  EXPECT_NE(outcome.error().message.find("call troupe::worker_entry first in main"),
            std::string::npos)
      << outcome.error().message;
  EXPECT_EQ(gpu.health().state, device_state::stopped);
  EXPECT_EQ(gpu.health().restarts, 0u) << "another try finds the same program";
}

TEST(Start, ThatNeverSucceedsEndsWithTheBudget) {
  for (const char* mood : {"ends", "killed", "crashes", "silent", "closes", "empty",
                           "ends_after_hello", "garbage", "truncated", "truncated_after_hello",
                           "ready_without_hello", "ready_at_once", "failed_without_words"}) {
    const moody_worker worker(mood);
    troupe::system system;
    device_config config = permissive();
    config.restarts = {.restarts = 2};
    config.start_timeout = 100ms;
    device gpu = system.device(0, config);
    auto outcome = gpu.ask(lane::marker{}).get_result();
    ASSERT_FALSE(outcome);
    const std::string_view how(mood);
    const bool breaks_the_protocol = how.starts_with("garbage") || how.starts_with("truncated") ||
                                     how.starts_with("ready") || how == "failed_without_words";
    EXPECT_EQ(outcome.error().code,
              breaks_the_protocol ? errc::device_stopped : errc::device_unavailable)
        << mood;
  }
}

// The starts are so slow that three of them never fall into one window of the budget.
TEST(Start, ThatNeverSucceedsAgainEndsHoweverLongEachTakes) {
  if (on_gpu()) GTEST_SKIP() << "a good start takes longer there than this test gives it";
  troupe::system system;
  device_config config = permissive();
  config.standby = false;
  config.restarts = {.restarts = 3, .window = 200ms};
  config.start_timeout = 150ms;
  device gpu = system.device(0, config);
  ASSERT_TRUE(gpu.wait_until_ready());
  const moody_worker mood("silent");
  kill_worker(gpu);
  const auto outcome = ended(gpu.ask(lane::marker{}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_stopped) << outcome.error().to_string();
  EXPECT_NE(outcome.error().message.find("was not ready after 150 ms"), std::string::npos);
}

TEST(Start, WithoutDescriptorsLeftIsATypedErrorAndWorksLater) {
  troupe::system system;
  // The first one raises the limit.
  EXPECT_TRUE(system.device(0, permissive()).wait_until_ready());
  system.device(0).stop();
  {
    const few_descriptors none_left;
    EXPECT_EQ(refused(system, 0, permissive()), errc::system_error);
  }
  EXPECT_TRUE(system.device(0, permissive()).wait_until_ready());
}

}  // namespace
}  // namespace troupe::test
