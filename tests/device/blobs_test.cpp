// Data that a worker's library leaves to the next worker, and requests that wait to be prepared.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/lane/marker.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

/// A folder of this test's alone, in which workers keep what they leave.
class own_cache {
 public:
  own_cache()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("troupe-blobs-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    ::setenv("XDG_CACHE_HOME", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~own_cache() { std::filesystem::remove_all(path_); }
  own_cache(const own_cache&) = delete;
  own_cache& operator=(const own_cache&) = delete;

  void clear() const { std::filesystem::remove_all(path_ / "troupe" / "blobs"); }

 private:
  std::filesystem::path path_;
};

class Blobs : public device_under_fault {
 protected:
  own_cache cache_;
};

INSTANTIATE_TEST_SUITE_P(Standby, Blobs, testing::Bool(), with_or_without);

TEST_P(Blobs, OfALostWorkerAreThereInTheNextOnes) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  ASSERT_TRUE(gpu.ask(keep{.key = "plan", .text = letters(100'000)}).get_result());
  ASSERT_TRUE(gpu.ask(keep{.key = "other", .text = "b"}).get_result());
  cache_.clear();  // those in the program's memory, not on disk
  for (int i = 0; i < 3; ++i) {
    const auto generation = gpu.generation();
    kill_worker(gpu);
    ASSERT_TRUE(eventually([&] { return gpu.generation() > generation; }));
    EXPECT_EQ(gpu.ask(look_up{.key = "plan"}).get().text, letters(100'000));
    EXPECT_EQ(gpu.ask(look_up{.key = "other"}).get().text, "b");
    EXPECT_EQ(gpu.ask(look_up{.key = "third"}).get().text, "nothing");
    ASSERT_TRUE(gpu.ask(keep{.key = "other", .text = "b"}).get_result());
  }
}

TEST_P(Blobs, AreThereInTheNextProgram) {
  {
    device gpu = system_.device(0, config());
    ASSERT_TRUE(gpu.ask(keep{.key = "plan", .text = "first"}).get_result());
    ASSERT_TRUE(gpu.ask(keep{.key = "plan", .text = "second"}).get_result());
    gpu.stop();
  }
  {
    troupe::system other;
    device gpu = other.device(0, config());
    EXPECT_EQ(gpu.ask(look_up{.key = "plan"}).get().text, "second");
    gpu.stop();
  }
  cache_.clear();
  troupe::system third;
  device gpu = third.device(0, config());
  EXPECT_EQ(gpu.ask(look_up{.key = "plan"}).get().text, "nothing");
}

TEST_P(Blobs, RefuseAKeyThatIsNone) {
  device gpu = system_.device(0, config());
  for (const std::string& key : {std::string(), letters(4097)}) {
    auto kept = gpu.ask(keep{.key = key, .text = "a"}).get_result();
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().code, errc::invalid_argument);
  }
}

TEST_P(Blobs, SayWhenTheyAreFull) {
  device gpu = system_.device(0, config());
  ASSERT_TRUE(gpu.ask(keep{.key = "first", .text = "kept"}).get_result());
  const std::string large = letters(200'000);
  std::optional<error> refused;
  for (int i = 0; i < 400 && !refused; ++i) {
    auto kept = gpu.ask(keep{.key = "large " + std::to_string(i), .text = large}).get_result();
    if (!kept) refused = kept.error();
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, errc::out_of_memory);
  EXPECT_NE(refused->message.find("the program keeps"), std::string::npos) << refused->message;
  cache_.clear();
  EXPECT_EQ(gpu.ask(look_up{.key = "first"}).get().text, "kept") << "nothing is dropped for others";
}

class Preparation : public device_under_fault {
 protected:
  own_cache cache_;
};
INSTANTIATE_TEST_SUITE_P(Standby, Preparation, testing::Bool(), with_or_without);

TEST_P(Preparation, OfARequestHoldsUpItsLaneOnly) {
  device_config c = config();
  c.lanes = lane_policy::pool(2);
  device gpu = system_.device(0, c);
  shared_flag may(gpu);
  shared_flag begun(gpu);
  auto waiting = gpu.ask(prepare{.flag = may.tensor(), .begun = begun.tensor()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(ended(gpu.ask(lane::marker{}))) << i;
  EXPECT_FALSE(waiting.ready());
  may.set();
  EXPECT_TRUE(ended(std::move(waiting)));
}

TEST_P(Preparation, BeginsWhileTheRequestWaitsForAnother) {
  device gpu = system_.device(0, config());
  shared_flag may_end(gpu);
  shared_flag may(gpu);
  shared_flag begun(gpu);
  auto busy = gpu.ask(hold{.flag = may_end.tensor()});
  // Behind it in its lane: the preparing request does not wait.
  auto waiting = gpu.ask(prepare{.flag = may.tensor(), .begun = begun.tensor()});
  EXPECT_TRUE(eventually([&] { return begun.is_set(); }));
  may.set();
  may_end.set();
  EXPECT_TRUE(ended(std::move(busy)));
  EXPECT_TRUE(ended(std::move(waiting)));
}

TEST_P(Preparation, BeginsAgainInTheNextWorker) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag may(gpu);
  shared_flag begun(gpu);
  auto waiting = gpu.ask(prepare{.flag = may.tensor(), .begun = begun.tensor()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  begun.reset();
  kill_worker(gpu);
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  EXPECT_FALSE(waiting.ready());
  may.set();
  EXPECT_TRUE(ended(std::move(waiting)));
}

TEST_P(Preparation, ThatCrashesFailsItsRequestAndNoOther) {
  device_config c = config();
  c.lanes = lane_policy::pool(3);
  device gpu = system_.device(0, c);
  settle(gpu, GetParam());
  shared_flag may(gpu);
  shared_flag begun(gpu);
  shared_flag may_crash(gpu);
  shared_flag crash_begun(gpu);
  auto other = gpu.ask(prepare{.flag = may.tensor(), .begun = begun.tensor()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  auto crashing =
      gpu.ask(prepare{.flag = may_crash.tensor(), .begun = crash_begun.tensor(), .crashes = true});
  ASSERT_TRUE(eventually([&] { return crash_begun.is_set(); }));
  may_crash.set();
  auto outcome = ended(std::move(crashing));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::device_fault);
  EXPECT_EQ(outcome.error().code_name, "SIGFPE");
  EXPECT_FALSE(other.ready());
  may.set();
  EXPECT_TRUE(ended(std::move(other)));
  EXPECT_EQ(gpu.generation(), 2U);
}

TEST_P(Preparation, ThatNobodyWaitsForAnyMoreEndsByItsDeadline) {
  device gpu = system_.device(0, config());
  shared_flag may(gpu);
  shared_flag begun(gpu);
  auto waiting =
      gpu.ask(prepare{.flag = may.tensor(), .begun = begun.tensor()}, {.deadline = 50ms});
  auto outcome = ended(std::move(waiting));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::deadline_exceeded);
  may.set();
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
}

}  // namespace
}  // namespace troupe::test
