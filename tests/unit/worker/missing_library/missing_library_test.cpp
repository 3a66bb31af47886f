// A library that cannot be loaded takes its own requests with it, and says why; all others run.

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/request/request.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

namespace troupe {
namespace {

namespace fs = std::filesystem;

struct work {
  using reply = void;
  static constexpr std::string_view name = "vendor.work";
  static void describe(description<work>&) {}
};

struct other_work {
  using reply = void;
  static constexpr std::string_view name = "elsewhere.work";
  static void describe(description<other_work>&) {}
};

/// A folder with the CPU backend and, beside it, the plugin that cannot be loaded.
class MissingLibrary : public testing::TestWithParam<isolation> {
 protected:
  MissingLibrary() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::create_symlink(TROUPE_CPU_PLUGIN, folder_ / "libtroupe-cpu.so");
    fs::create_symlink(VENDOR_PLUGIN, plugin_);
    device_config config{.isolation = GetParam(),
                         .backend_path = (folder_ / "libtroupe-cpu.so").string()};
    gpu_.emplace(system_.device(0, config));
  }
  ~MissingLibrary() override { fs::remove_all(folder_); }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("troupe-missing-" + std::to_string(::getpid()));
  const fs::path plugin_ = folder_ / "libtroupe-cpu-vendor.so";
  troupe::system system_;
  std::optional<device> gpu_;
};

INSTANTIATE_TEST_SUITE_P(Everywhere, MissingLibrary,
                         testing::Values(isolation::process, isolation::thread),
                         [](const auto& place) {
                           return place.param == isolation::process ? "Process" : "Thread";
                         });

TEST_P(MissingLibrary, RefusesItsRequestsByNameWithTheLoadersWords) {
  // Sent before a worker is ready, and again when it is known what it lacks.
  for (int i = 0; i < 2; ++i) {
    auto outcome = gpu_->ask(work{}).get_result();
    ASSERT_FALSE(outcome);
    const error& why = outcome.error();
    EXPECT_EQ(why.code, errc::library_missing) << why.to_string();
    EXPECT_EQ(why.library, "vendor");
    for (const std::string& text :
         {std::string("library vendor is not loaded"), plugin_.string(),
          std::string("libfake_vendor.so.13: cannot open shared object file"),
          std::string("install the package with libfake_vendor.so.13, or put its folder into "
                      "LD_LIBRARY_PATH")}) {
      EXPECT_NE(why.message.find(text), std::string::npos) << text << "\n" << why.message;
    }
  }
}

TEST_P(MissingLibrary, SaysThatAnotherMajorVersionIsThere) {
  const char* const folders = std::getenv("LD_LIBRARY_PATH");
  if (folders == nullptr || std::string(folders).find("vendor12") == std::string::npos) {
    GTEST_SKIP() << "ctest says where the other version is";
  }
  auto outcome = gpu_->ask(work{}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("libfake_vendor.so.12 is there, which is another major"),
            std::string::npos)
      << outcome.error().message;
}

TEST_P(MissingLibrary, LeavesTheRestOfTheDeviceAlone) {
  EXPECT_FALSE(gpu_->ask(work{}).get_result());
  auto t = gpu_->tensor<float>({16}).value();
  EXPECT_TRUE(gpu_->ask(memory::fill{.to = t, .value = 2}).get_result());
  EXPECT_EQ(gpu_->health().restarts, 0u);
}

TEST_P(MissingLibrary, IsNotWhatAnUnknownRequestIs) {
  auto outcome = gpu_->ask(other_work{}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::unsupported) << outcome.error().to_string();
}

TEST_P(MissingLibrary, StaysMissingInTheNextWorker) {
  if (GetParam() == isolation::thread) GTEST_SKIP() << "there is no next one";
  ASSERT_TRUE(gpu_->wait_until_ready());
  ASSERT_EQ(::kill(gpu_->worker_pid().value(), SIGKILL), 0);
  while (gpu_->generation() < 2)
    std::this_thread::yield();
  auto outcome = gpu_->ask(work{}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::library_missing) << outcome.error().to_string();
}

}  // namespace
}  // namespace troupe
