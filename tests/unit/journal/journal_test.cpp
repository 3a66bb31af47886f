// A journal is replayed: equal where nothing has changed, and different where it has.
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
namespace {

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

TEST_F(Journal, IsReplayedBitForBitAsOftenAsOneLikes) {
  if (queues() != nullptr) GTEST_SKIP() << "they have no numbers and no norms";
  const auto noted = record([](device& gpu) {
    const auto a = filled(gpu, {16, 16}, 1);
    const auto b = filled(gpu, {16, 16}, -7);
    auto c = gpu.tensor<float>({16, 16}).value();
    for (int i = 0; i < 20; ++i) {
      gpu.tell(blas::gemm{.a = a, .b = b, .c = c, .alpha = 0.25, .beta = 0.5}).value();
      gpu.tell(rng::uniform{.to = b, .from = {.seed = static_cast<std::uint64_t>(i)}}).value();
    }
    (void)gpu.ask(blas::nrm2{.x = c.reshape({256}).value(), .result = {}}).get_result();
    (void)content(gpu, c);
  });
  EXPECT_EQ(noted.gaps, 0U);
  EXPECT_GE(noted.requests, 44U);
  for (int i = 0; i < 2; ++i) {
    const replay_report done = report();
    EXPECT_TRUE(done.equal()) << done.text();
    EXPECT_TRUE(done.is_exact);
    EXPECT_EQ(done.requests, noted.requests);
    EXPECT_EQ(done.outcomes, noted.requests);
    EXPECT_GE(done.elements, 256U);
    EXPECT_TRUE(done.remarks.empty()) << done.text();
  }
}

TEST_F(Journal, TellsWhichRequestOfTheProgramSawAnotherValue) {
  record([](device& gpu) {
    const auto x = filled(gpu, {100}, 0);
    const auto y = gpu.tensor<float>({100}).value();
    gpu.tell(tripling{.x = x, .y = y}).value();
    (void)content(gpu, y);
    (void)content(gpu, x);
  });
  EXPECT_TRUE(report().equal());
  ::setenv(wrong_from_variable, "41", 1);  // for the workers of the replay
  const replay_report done = report();
  const replay_report first = report({.stop_at_difference = true});
  ::unsetenv(wrong_from_variable);
  ASSERT_EQ(done.differing, 1U) << done.text();
  EXPECT_EQ(done.differences[0].element, 41);
  EXPECT_EQ(done.differences[0].recorded, "123");
  EXPECT_EQ(done.differences[0].replayed, "124");
  EXPECT_EQ(done.differences[0].field, "to");
  EXPECT_EQ(first.differing, 1U);
  EXPECT_LT(first.requests, done.requests);
}

TEST_F(Journal, FindsTheRequestWhoseKernelDiffersBetweenTwoDevices) {
  record([](device& gpu) {
    auto x = filled(gpu, {100}, 0);
    auto y = gpu.tensor<float>({100}).value();
    for (int i = 0; i < 5; ++i) {
      gpu.tell(memory::fill{.to = y, .value = i}).value();
      gpu.tell(tripling{.x = x, .y = y, .can_be_wrong = i == 3}).value();
      gpu.tell(memory::copy{.from = y, .to = x}).value();
    }
    (void)content(gpu, x);
  });
  replay_options how{.stop_at_difference = true, .against = backend_kind::cpu};
  const replay_report good = report(how);
  EXPECT_TRUE(good.equal()) << good.text();
  EXPECT_GE(good.elements, 15U * 100);
  std::vector<std::string> with_variable{std::string(wrong_where_asked_variable) + "=7"};
  for (char** one = environ; *one != nullptr; ++one)
    with_variable.emplace_back(*one);
  environment_ = std::make_shared<const std::vector<std::string>>(std::move(with_variable));
  const replay_report done = report(how);
  ASSERT_EQ(done.differing, 1U) << done.text();
  const replay_difference& d = done.differences[0];
  EXPECT_NE(d.request.find("journals.tripling"), std::string::npos) << done.text();
  EXPECT_EQ(d.field, "y");
  EXPECT_EQ(d.element, 7);
  EXPECT_EQ(d.recorded, "567");  // the device that it is compared with
  EXPECT_EQ(d.replayed, "568");
}

TEST_F(Journal, HasTheContentsOfHostMemoryOnce) {
  const auto noted = record([](device& gpu) {
    const auto t = gpu.tensor<float>({100'000}).value();
    const numbers batch(100'000, 2.5F);
    for (int i = 0; i < 10; ++i)
      gpu.copy(batch, t).get();
    (void)content(gpu, t);
  });
  EXPECT_GE(noted.duplicates, 9U);
  EXPECT_LT(noted.file_bytes, 2 * 100'000 * sizeof(float));
  EXPECT_TRUE(report().equal());
}

TEST_F(Journal, TakesWhatRequestsLeaveInHostMemoryForOthers) {
  record([](device& gpu) {
    auto h = gpu.host_tensor<float>({64}).value();
    auto x = gpu.tensor<float>({64}).value();
    for (int i = 0; i < 20; ++i) {
      for (std::int64_t k = 0; k < 64; ++k)
        h[k] = static_cast<float>(k + i);
      // Not waited for. The third reads from h the result of the second.
      gpu.tell(memory::copy{.from = h, .to = x}).value();
      gpu.tell(tripling{.x = x, .y = h}).value();
      gpu.tell(memory::copy{.from = h, .to = x}).value();
      gpu.ask(tripling{.x = x, .y = h}).get();
      EXPECT_EQ(h[63], 9.F * static_cast<float>(63 + i));
    }
  });
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_GE(done.elements, 20U * 64);
}

TEST_F(Journal, HasWhatTheProgramDidWithMappedTensors) {
  record([](device& gpu) {
    auto x = filled(gpu, {64}, 1);
    auto y = gpu.tensor<float>({64}).value();
    gpu.tell(tripling{.x = x, .y = y}).value();
    {
      auto map = gpu.mapped(y, access::update).get();
      reinterpret_cast<float*>(map.address())[5] = 1000;
    }
    gpu.tell(tripling{.x = y, .y = x}).value();
    {
      auto map = gpu.mapped(x, access::read).get();
      EXPECT_EQ(reinterpret_cast<float*>(map.address())[5], 3000);
    }
  });
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_EQ(done.elements, 64U);
}

TEST_F(Journal, HasGraphsWithConditionsAndReplies) {
  record([](device& gpu) {
    auto x = filled(gpu, {8}, 1);
    auto y = gpu.tensor<float>({8}).value();
    graph_recorder rec = gpu.record("step");
    rec.add(tripling{.x = x, .y = y});
    rec.add(memory::copy{.from = y, .to = x});
    const auto norm = rec.add(blas::asum{.x = x});
    const request_graph g = std::move(rec).finish().value();
    float sum = 36;
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(gpu.run(g).get()[norm].as<float>(), sum *= 3);
  });
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
}

TEST_F(Journal, ReplaysFaultsAndFailures) {
  record([](device& gpu) {
    auto x = filled(gpu, {8}, 1);
    auto y = gpu.tensor<float>({8}).value();
    for (const fault::kind what : {fault::kind::segmentation_fault, fault::kind::exception,
                                   fault::kind::exit, fault::kind::abort}) {
      EXPECT_FALSE(gpu.ask(fault::inject{.what = what, .output = y}).get_result());
      gpu.ask(tripling{.x = x, .y = y}).get();
      (void)content(gpu, y);
    }
  });
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_GE(done.outcomes, 12U);
}

TEST_F(Journal, IsWholeWhenWorkersAreKilled) {
  record([](device& gpu) {
    auto x = filled(gpu, {1000}, 1);
    auto y = gpu.tensor<float>({1000}).value();
    for (int i = 0; i < 10; ++i) {
      std::vector<future<void>> all;
      for (int k = 0; k < 20; ++k)
        all.push_back(gpu.ask(tripling{.x = x, .y = y}));
      if (const auto worker = gpu.worker_pid()) ::kill(*worker, SIGKILL);
      for (auto& one : all)
        one.get();
      (void)content(gpu, y);
    }
  });
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_GE(done.outcomes, 200U);
}

TEST_F(Journal, RefusesAGapUnlessToldToGoOn) {
  const auto noted = record(
      [](device& gpu) {
        const auto t = gpu.tensor<float>({100'000}).value();
        const numbers batch(100'000, 2.5F);
        gpu.copy(batch, t).get();
        (void)content(gpu, t);
      },
      {.most_request_bytes = 1000});
  EXPECT_GE(noted.gaps, 1U);
  auto refused = replayed();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_NE(refused.error().message.find("gap"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(replayed({.over_gaps = true}));
}

TEST_F(Journal, WithoutContentsHasRequestsAndOutcomes) {
  const auto noted = record(
      [](device& gpu) {
        auto x = filled(gpu, {8}, 1);
        auto y = gpu.tensor<float>({8}).value();
        gpu.ask(tripling{.x = x, .y = y}).get();
        (void)content(gpu, y);
      },
      {.data = journal_options::stored::frames});
  EXPECT_EQ(noted.contents, 0U);
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_EQ(done.elements, 0U);
}

TEST_F(Journal, ComparesARange) {
  record([](device& gpu) {
    auto x = filled(gpu, {8}, 1);
    for (int i = 0; i < 10; ++i)
      gpu.ask(memory::fill{.to = x, .value = i}).get();
    (void)content(gpu, x);
  });
  const replay_report all = report();
  const replay_report some = report({.from = 4, .to = 6});
  EXPECT_EQ(some.outcomes, 3U);
  EXPECT_LT(some.requests, all.requests);
}

TEST_F(Journal, OfTwoDevicesIsReplayedDeviceByDevice) {
  auto journal = request_journal::open(path_).value();
  {
    system all;
    device_config c = config();
    c.journal = journal;
    for (int i = 0; i < 2; ++i) {
      device gpu = all.device(i, c);
      auto x = filled(gpu, {8}, static_cast<float>(i));
      (void)content(gpu, x);
    }
  }
  journal.reset();
  EXPECT_TRUE(report().equal());
  EXPECT_LT(report({.device = 1}).requests, report().requests);
  EXPECT_FALSE(replayed({.device = 2}));
}

TEST_F(Journal, BelongsToItsUserAlone) {
  {
    std::ofstream before(path_);
  }
  ::chmod(path_.c_str(), 0644);
  record([](device&) {});
  struct stat facts{};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(Journal, ThatCannotBeMadeSaysWhy) {
  const auto none = request_journal::open("/nonexistent/journal");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::system_error);
  EXPECT_FALSE(request_journal::open(path_, {.queue_bytes = 10}));
  EXPECT_FALSE(replay("/nonexistent/journal"));
  std::ofstream(path_) << "something else, of enough bytes";
  EXPECT_EQ(replay(path_).error().code, errc::invalid_argument);
}

TEST_F(Journal, ThatIsFullCostsNoRequest) {
  const auto noted = record(
      [](device& gpu) {
        auto t = gpu.tensor<float>({100'000}).value();
        for (int i = 0; i < 20; ++i) {
          const numbers batch(100'000, static_cast<float>(i));
          gpu.copy(batch, t).get();
          EXPECT_EQ(content(gpu, t).back(), static_cast<float>(i));
        }
      },
      {.most_bytes = 1'000'000});
  EXPECT_NE(noted.stopped.find("at most 1000000"), std::string::npos) << noted.stopped;
  EXPECT_LE(std::filesystem::file_size(path_), 1'000'000U);
  // Up to there it can be replayed.
  auto done = replayed({.over_gaps = true});
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(done->remarks.size(), 1U);
}

}  // namespace
}  // namespace troupe::test

int main(int argc, char** argv) {
  if (const auto status = troupe::worker_entry(argc, argv, &troupe::test::add_tripling)) {
    return *status;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
