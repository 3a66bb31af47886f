// Journals of faults, of lost workers, and on full disks.
#include "journal_fixture.hpp"

namespace troupe::test {
namespace {

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

TEST_F(Journal, OfAFaultReproducesIt) {
  const std::string folder = path_ + ".faults";
  std::filesystem::remove_all(folder);
  int faults = 0;
  {
    system all;
    device_config c = config();
    c.fault_journal = {.folder = folder, .most_files = 3};
    device gpu = all.device(0, c);
    const auto x = filled(gpu, {1000}, 1);
    const auto y = gpu.tensor<float>({1000}).value();
    for (const fault::kind what : {fault::kind::abort, fault::kind::segmentation_fault,
                                   fault::kind::exit, fault::kind::trap}) {
      auto outcome = gpu.ask(fault::inject{.what = what, .target = x, .output = y}).get_result();
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().code, errc::device_fault);
      ++faults;
      // They are sent since, and are no reason to lose what it read.
      gpu.tell(memory::fill{.to = x, .value = faults}).value();
      gpu.ask(memory::fill{.to = y, .value = 0}).get();
    }
  }
  int found = 0;
  for (const auto& one : std::filesystem::directory_iterator(folder)) {
    ++found;
    replay_options how;
    how.on = config();
    const auto done = replay(one.path(), how);
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_TRUE(done->equal()) << done->text();
    EXPECT_EQ(done->requests, 1U);
    EXPECT_EQ(done->outcomes, 1U);
    EXPECT_GT(std::filesystem::file_size(one.path()), 1000 * sizeof(float));
    EXPECT_EQ(std::filesystem::status(one.path()).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  EXPECT_EQ(found, 3);
  EXPECT_EQ(faults, 4);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  system other;
  device_config c = config();
  c.fault_journal.folder = folder;
  EXPECT_THROW((void)other.device(0, c), failure);  // others could read it
  std::filesystem::remove_all(folder);
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
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  EXPECT_GE(done.remarks.size(), 1U);
}

}  // namespace
}  // namespace troupe::test
