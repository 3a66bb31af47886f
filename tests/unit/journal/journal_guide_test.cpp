// The listing of the guide to journals.
#include <troupe/blas.hpp>
#include <troupe/journal/replay.hpp>
#include <troupe/telemetry/request_journal.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

TEST(JournalGuide, RecordsAndReplays) {
  const std::string path = ::testing::TempDir() + "troupe-guide-" + std::to_string(::getpid());
  {
    // region: record
    troupe::system system;
    troupe::device_config config;
    config.journal = troupe::request_journal::open(path).value();
    troupe::device gpu = system.device(0, config);

    auto x = gpu.tensor<float>({8, 8}).value();
    std::vector<float> numbers(64, 0.5f);
    gpu.copy(numbers, x).get();
    for (int i = 0; i < 10; ++i)
      x = tensor<float>(gpu.compute(troupe::blas::gemm{.a = x, .b = x, .alpha = 0.25})->c);
    gpu.copy(x, numbers).get();
    // endregion: record
    EXPECT_GT(numbers[0], 0);
  }
  const auto report = troupe::replay(path);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->equal()) << report->text();
  EXPECT_EQ(report->elements, 64U);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace troupe::test
