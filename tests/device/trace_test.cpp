// The reports to tracers, and the file that one of them writes.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/device/request_tracer.hpp>
#include <troupe/device/trace_file.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

// Writes down all that it hears.
class witness final : public request_tracer {
 public:
  struct heard {
    std::string calls;  // "beBE": before and after enqueue, before and after completion
    std::string name;
    request_times times;
    bool failed = false;
    std::chrono::steady_clock::time_point sent;
    std::chrono::steady_clock::time_point answered;
  };

  void before_enqueue(const traced_request& r) noexcept override { note(r, 'b'); }
  void after_enqueue(const traced_request& r, const error* refused) noexcept override {
    note(r, 'e').failed = refused != nullptr;
  }
  void before_completion(const traced_request& r) noexcept override { note(r, 'B'); }
  void after_completion(const traced_request& r, const request_times& times,
                        const error* failure) noexcept override {
    const std::scoped_lock lock(mutex_);
    heard& h = all_[r.id];
    h.calls += 'E';
    h.times = times;
    h.failed = failure != nullptr;
    h.sent = r.sent;
    h.answered = std::chrono::steady_clock::now();
  }
  [[nodiscard]] std::vector<heard> of(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    std::vector<heard> found;
    for (const auto& [id, h] : all_) {
      if (h.name == name) found.push_back(h);
    }
    return found;
  }

 private:
  heard& note(const traced_request& r, char call) {
    const std::scoped_lock lock(mutex_);
    heard& h = all_[r.id];
    h.name = r.name;
    h.calls += call;
    return h;
  }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, heard> all_;
};

class Trace : public either_isolation {
 protected:
  device traced(std::shared_ptr<request_tracer> by) {
    device_config c = config();
    c.tracer = std::move(by);
    return instead(c);
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, Trace, ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(Trace, TellsOfEachRequestInOrderBeforeItIsAnswered) {
  const auto heard = std::make_shared<witness>();
  device gpu = traced(heard);
  auto t = gpu.tensor<float>({256}).value();
  for (int i = 0; i < 20; ++i) {
    gpu.ask(memory::fill{.to = t, .value = i}).get();
    ASSERT_EQ(heard->of("memory.fill").size(), static_cast<std::size_t>(i + 1));
  }
  for (const auto& one : heard->of("memory.fill")) {
    EXPECT_EQ(one.calls, "beBE");
    EXPECT_FALSE(one.failed);
    EXPECT_GT(one.times.launch, 0ns);
    EXPECT_GE(one.times.queue, 0ns);
    // No part of the whole is longer than the whole.
    EXPECT_LE(one.times.queue + one.times.launch, one.answered - one.sent);
  }
}

TEST_P(Trace, SaysHowLongARequestRan) {
  if (on_gpu()) GTEST_SKIP() << "what runs until it is told is a kernel there";
  const auto heard = std::make_shared<witness>();
  device gpu = traced(heard);
  shared_flag begun(gpu);
  shared_flag go(gpu);
  auto held = gpu.ask(hold{.flag = go.tensor(), .begun = begun.tensor()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  std::this_thread::sleep_for(20ms);
  go.set();
  held.get();
  const auto one = heard->of("test.hold").at(0);
  EXPECT_GE(one.times.launch, 20ms);
  EXPECT_EQ(one.times.device, one.times.launch);
}

TEST_P(Trace, OfWhatIsRefusedOrFailsSaysSo) {
  const auto heard = std::make_shared<witness>();
  device gpu = traced(heard);
  auto a = gpu.tensor<float>({2, 3}).value();
  auto b = gpu.tensor<float>({4, 5}).value();
  auto c = gpu.tensor<float>({2, 5}).value();
  EXPECT_FALSE(gpu.ask(blas::gemm{.a = a, .b = b, .c = c}).get_result());
  const auto refused = heard->of("blas.gemm").at(0);
  EXPECT_EQ(refused.calls, "be");
  EXPECT_TRUE(refused.failed);
  EXPECT_FALSE(gpu.ask(say{.letters = 3, .fail = true}).get_result());
  const auto failed = heard->of("test.say").at(0);
  EXPECT_EQ(failed.calls, "beBE");
  EXPECT_TRUE(failed.failed);
  EXPECT_TRUE(gpu.tell(memory::fill{.to = a, .value = 1}));
  EXPECT_TRUE(gpu.drain(10s));
  EXPECT_EQ(heard->of("memory.fill").at(0).calls, "beBE");
}

TEST_P(Trace, IsToldOfAllThatEndedWhenTheDeviceIsDrained) {
  // Slow at telling, when the request is counted as ended.
  class slow_witness final : public request_tracer {
   public:
    void before_completion(const traced_request&) noexcept override {
      std::this_thread::sleep_for(20ms);
    }
    void after_completion(const traced_request&, const request_times&,
                          const error*) noexcept override {
      ++told;
    }
    std::atomic<int> told{0};
  };
  const auto heard = std::make_shared<slow_witness>();
  device gpu = traced(heard);
  auto t = gpu.tensor<float>({4}).value();
  for (int i = 1; i <= 5; ++i) {
    EXPECT_TRUE(gpu.tell(memory::fill{.to = t, .value = i}));
    ASSERT_TRUE(gpu.drain(10s));
    EXPECT_EQ(heard->told, i);
  }
}

TEST_P(Trace, FileHasASliceForEachRequestAndATrackForEachLane) {
  const std::string path =
      ::testing::TempDir() + "/troupe_trace_" + std::to_string(::getpid()) + ".json";
  {
    // The file is complete once nothing holds the tracer any more.
    gpu_.stop();
    device_config c = config();
    c.tracer = trace_file::open(path).value();
    troupe::system own;
    device gpu = own.device(0, c);
    c.tracer.reset();
    auto t = gpu.tensor<float>({64}).value();
    const auto other = gpu.library("memory").on_new_lane();
    for (int i = 0; i < 10; ++i)
      gpu.ask(memory::fill{.to = t, .value = i}).get();
    other.ask(memory::fill{.to = t, .value = 1}).get();
    (void)gpu.ask(say{.letters = 3, .fail = true}).get_result();
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string all = text.str();
  const auto count = [&](std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = all.find(what); at != std::string::npos; at = all.find(what, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(all.substr(0, 2), "[\n");
  EXPECT_EQ(all.substr(all.size() - 3), "\n]\n");
  EXPECT_EQ(count(R"("ph":"X","name":"memory.fill")"), 11u) << all;
  EXPECT_EQ(count(R"("cat":"failed")"), 1u);
  EXPECT_EQ(count(R"("name":"process_name")"), 1u);
  EXPECT_EQ(count(R"("name":"thread_name")"), 4u) << "three lanes, and the device's events";
  EXPECT_EQ(count(R"("name":"started","cat":"event")"), 1u);
  EXPECT_EQ(count(R"("name":"clock_sync")"), 1u);
}

TEST(TraceFile, BeginsAgainBeforeItGrowsTooLarge) {
  const std::string path =
      ::testing::TempDir() + "/troupe_bounded_trace_" + std::to_string(::getpid()) + ".json";
  constexpr std::uint64_t most = 128 << 10;
  constexpr int requests = 2'000;
  {
    device_config c = permissive();
    c.tracer = trace_file::open(path, most).value();
    troupe::system own;
    device gpu = own.device(0, c);
    c.tracer.reset();
    for (int i = 0; i < requests; ++i)
      gpu.ask(lane::marker{}).get();
  }
  for (const std::string& file : {path, path + ".1"}) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string all = text.str();
    EXPECT_GT(all.size(), 100u) << file;
    EXPECT_LE(all.size(), most / 2) << file;
    EXPECT_EQ(all.substr(0, 2), "[\n");
    EXPECT_EQ(all.substr(all.size() - 3), "\n]\n");
  }
}

TEST(TraceFile, ThatCannotBeOpenedNamesThePath) {
  const auto none = trace_file::open("/no/such/folder/trace.json");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::system_error);
  EXPECT_NE(none.error().message.find("/no/such/folder/trace.json"), std::string::npos);
}

}  // namespace
}  // namespace troupe::test
