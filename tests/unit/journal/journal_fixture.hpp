#pragma once

#include "tripling.hpp"

#include <troupe/blas.hpp>
#include <troupe/device/mapped_tensor.hpp>
#include <troupe/fault.hpp>
#include <troupe/graph.hpp>
#include <troupe/journal/replay.hpp>
#include <troupe/memory.hpp>
#include <troupe/rng.hpp>
#include <troupe/telemetry/request_journal.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace troupe::test {

/// A device with a journal, whose worker is this program.
class Journal : public ::testing::Test {
 protected:
  using numbers = std::vector<float>;

  static const char* queues() { return std::getenv("TROUPE_TEST_PLUGIN"); }
  static device_config config() {
    return {.backend = backend_kind::cpu,
            .memory_limit_bytes = std::uint64_t{64} << 20,
            .lane_threads = 2,
            .restarts = {.restarts = 1'000'000},
            .backoff = {.initial = std::chrono::nanoseconds(0)},
            .fault_injection = true,
            .backend_path = queues() != nullptr ? queues() : "",
            .own_operations = &add_tripling};
  }

  /// Runs `use` with a device that has a journal, which is closed then.
  template <class Use>
  journal_statistics record(Use&& use, const journal_options& how = {}) {
    auto journal = request_journal::open(path_, how).value();
    {
      system all;
      device_config c = config();
      c.journal = journal;
      device gpu = all.device(0, c);
      use(gpu);
    }
    journal->flush();
    return journal->statistics();
  }
  [[nodiscard]] result<replay_report> replayed(replay_options how = {}) const {
    how.on = config();
    how.on.backend = backend_kind::automatic;
    how.on.worker_environment = environment_;
    return replay(path_, how);
  }
  /// The report, if it can be replayed.
  [[nodiscard]] replay_report report(const replay_options& how = {}) const {
    auto done = replayed(how);
    EXPECT_TRUE(done) << done.error().to_string();
    return done ? *std::move(done) : replay_report{};
  }
  static tensor<float> filled(device& gpu, const shape& extents, float first) {
    auto t = gpu.tensor<float>(extents).value();
    numbers values(static_cast<std::size_t>(t.count()));
    std::iota(values.begin(), values.end(), first);
    gpu.copy(values, t).get();
    return t;
  }
  static numbers content(device& gpu, const any_tensor& t) {
    numbers values(static_cast<std::size_t>(t.count()));
    gpu.copy(t, values).get();
    return values;
  }

  std::shared_ptr<const std::vector<std::string>> environment_;  // for workers of replays
  const std::string path_ = ::testing::TempDir() + "troupe-journal-" + std::to_string(::getpid());
  void TearDown() override { std::filesystem::remove(path_); }
};

}  // namespace troupe::test
