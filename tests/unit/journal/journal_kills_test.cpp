// A journal is whole up to the moment when its program was killed, or when it was told to stop.
#include "journal_fixture.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

namespace troupe::test {

// Two threads send: the requests of one exchange data with the program, those of the other need
// none.
void record_until_killed(const char* path) {
  auto journal = request_journal::open(path, {.behind = journal_options::when_behind::wait,
                                              .checkpoint_bytes = 100'000})
                     .value();
  system all;
  device_config config;
  config.backend = backend_kind::cpu;
  config.memory_limit_bytes = std::uint64_t{64} << 20;
  config.lane_threads = 2;
  config.full = when_full::wait;
  config.journal = journal;
  config.own_operations = &add_tripling;
  device gpu = all.device(0, config);
  const std::jthread other([&gpu] {
    auto z = gpu.tensor<float>({16}).value();
    for (int i = 0;; ++i) {
      gpu.ask(memory::fill{.to = z, .value = i}).get();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  auto h = gpu.host_tensor<float>({1000}).value();
  auto x = gpu.tensor<float>({1000}).value();
  auto y = gpu.tensor<float>({1000}).value();
  std::vector<float> numbers(1000);
  for (int i = 0;; ++i) {
    std::iota(numbers.begin(), numbers.end(), static_cast<float>(i));
    h[i % 1000] = static_cast<float>(-i);
    auto sent = gpu.copy(numbers, x);
    gpu.tell(tripling{.x = x, .y = y}).value();
    auto back = gpu.copy(y, numbers);
    gpu.tell(tripling{.x = h, .y = x}).value();
    gpu.ask(memory::copy{.from = x, .to = y}).get();
    sent.get();
    back.get();
    gpu.copy(y, numbers).get();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

namespace {

// Starts this program as the one that records.
pid_t start_recording(const std::string& path) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const std::string what(record_for_ever);
  ::execl("/proc/self/exe", "journal_test", what.c_str(), path.c_str(), nullptr);
  ::_exit(127);
}

TEST_F(Journal, OfAKilledProgramIsWholeUpToThere) {
  constexpr int kills = 6;
  std::uint64_t most = 0;
  for (int i = 0; i < kills; ++i) {
    std::filesystem::remove(path_);
    const pid_t child = start_recording(path_);
    ASSERT_GT(child, 0);
    // After so many bytes, which is at any point of its work.
    const std::uint64_t wanted = static_cast<std::uint64_t>(i) * 700'000 + 16;
    for (std::error_code why;;) {
      const std::uint64_t bytes = std::filesystem::file_size(path_, why);
      if (!why && bytes >= wanted) break;
      ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it has ended by itself";
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const replay_report done = report();
    EXPECT_TRUE(done.equal()) << "after " << wanted << " bytes: " << done.text();
    ASSERT_GE(done.remarks.size(), 1U) << done.text();
    EXPECT_NE(done.remarks[0].find("the journal"), std::string::npos) << done.text();
    most = std::max(most, done.elements);
    // From a checkpoint on, where the threads have left room for one.
    const replay_report end = report({.from = done.requests * 9 / 10});
    EXPECT_TRUE(end.equal()) << "after " << wanted << " bytes: " << end.text();
  }
  EXPECT_GE(most, 10'000U);
}

TEST_F(Journal, ThatIsToStopWhenItFallsBehindIsWholeUpToThere) {
  const auto noted = record(
      [](device& gpu) {
        auto small = filled(gpu, {1000}, 5);
        EXPECT_EQ(content(gpu, small)[999], 1004);
        auto t = gpu.tensor<float>({4'000'000}).value();
        numbers batch(4'000'000);
        for (int i = 0; i < 100; ++i) {
          batch[7] = static_cast<float>(i);
          gpu.copy(batch, t).get();
        }
        EXPECT_EQ(content(gpu, t)[7], 99);  // its requests do not notice
      },
      {.behind = journal_options::when_behind::stop, .queue_bytes = std::uint64_t{1} << 20});
  EXPECT_NE(noted.stopped.find("keep up"), std::string::npos) << noted.stopped;
  EXPECT_EQ(noted.waits, 0U);
  const replay_report done = report();
  EXPECT_TRUE(done.equal()) << done.text();
  ASSERT_GE(done.remarks.size(), 1U) << done.text();
  EXPECT_NE(done.remarks[0].find("not closed"), std::string::npos) << done.text();
}

}  // namespace
}  // namespace troupe::test
