// Events of real workers: in the log, in the journal, and in `ps`.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;
using event_kind = device_event::kind;

/// Collects the entries about devices.
class heard_events {
 public:
  [[nodiscard]] log_hook hook() {
    return [this](const log_entry& e) {
      const std::lock_guard lock(mutex_);
      if (e.of_device == nullptr) {
        ++others_;
      } else {
        events_.push_back(*e.of_device);
      }
    };
  }
  [[nodiscard]] std::vector<device_event> of(event_kind what) {
    const std::lock_guard lock(mutex_);
    std::vector<device_event> found;
    std::ranges::copy_if(events_, std::back_inserter(found),
                         [&](const device_event& e) { return e.what == what; });
    return found;
  }
  [[nodiscard]] std::vector<device_event> all() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  [[nodiscard]] int others() {
    const std::lock_guard lock(mutex_);
    return others_;
  }

 private:
  std::mutex mutex_;
  std::vector<device_event> events_;
  int others_ = 0;
};

// The last argument, as `ps -f` shows it.
std::string title_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.erase(text.find_last_not_of(std::string(" \0", 2)) + 1);
  return text.substr(text.rfind('[') == std::string::npos ? text.size() : text.rfind('['));
}

TEST(Events, TellEachLossOnceWithItsCulpritAndItsRecovery) {
  heard_events heard;
  std::vector<pid_t> lost_workers;
  {
    troupe::system system({.log = heard.hook()});
    device_config config = permissive();
    config.standby = false;
    device gpu = system.device(0, config);
    ASSERT_TRUE(gpu.wait_until_ready());
    for (const fault::kind kind :
         {fault::kind::segmentation_fault, fault::kind::abort, fault::kind::exit, fault::kind::trap,
          fault::kind::stack_overflow}) {
      lost_workers.push_back(gpu.worker_pid().value());
      auto output = gpu.tensor<float>({4}).value();
      EXPECT_FALSE(ended(gpu.ask(fault::inject{.what = kind, .output = output})));
      EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
      ASSERT_TRUE(eventually(
          [&] { return heard.of(event_kind::recovered).size() == lost_workers.size(); }));
      const auto losses = heard.of(event_kind::lost);
      ASSERT_EQ(losses.size(), lost_workers.size()) << to_string(kind);
      EXPECT_EQ(losses.back().pid, lost_workers.back());
      EXPECT_NE(losses.back().why->request.find("fault.inject"), std::string::npos)
          << losses.back().why->to_string();
      EXPECT_EQ(losses.back().failed, 1);
    }
    lost_workers.push_back(gpu.worker_pid().value());
    kill_worker(gpu);
    EXPECT_TRUE(eventually([&] { return heard.of(event_kind::recovered).size() == 6; }));
    EXPECT_TRUE(heard.of(event_kind::lost).back().why->request.empty()) << "no request caused it";
    gpu.stop();
  }
  auto all = heard.all();
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i].number, i + 1) << "each once, in order";
  EXPECT_EQ(heard.of(event_kind::tainted).size(), 5U) << "the outputs of each culprit";
  std::erase_if(all, [](const device_event& e) {  // a GPU may report Xids at any time
    return e.what == event_kind::tainted || e.what == event_kind::xid;
  });
  for (std::size_t i = 0; i < lost_workers.size(); ++i) {
    EXPECT_EQ(all[1 + 2 * i].what, event_kind::lost);
    EXPECT_EQ(all[2 + 2 * i].what, event_kind::recovered);
    EXPECT_GT(all[2 + 2 * i].took, 0ns);
  }
  EXPECT_EQ(all.front().what, event_kind::started);
  EXPECT_EQ(all.back().what, event_kind::stopped);
  EXPECT_EQ(heard.others(), 0);
}

TEST(Events, AHookThatHangsDelaysNoRecovery) {
  std::atomic<bool> goes_on{false};
  {
    troupe::system system({.log = [&](const log_entry&) { goes_on.wait(false); }});
    device gpu = system.device(0, permissive());
    ASSERT_TRUE(gpu.wait_until_ready());
    for (int i = 0; i < 5; ++i) {
      kill_worker(gpu);
      EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
    }
    EXPECT_GE(gpu.events().size(), 11U) << "the journal has them";
    goes_on = true;
    goes_on.notify_all();
  }
}

TEST(Events, ADeviceThatGivesUpIsReportedOnce) {
  heard_events heard;
  {
    troupe::system system({.log = heard.hook()});
    device_config config = permissive();
    config.worker_path = "/nowhere/worker";
    device gpu = system.device(0, config);
    EXPECT_FALSE(gpu.wait_until_ready());
    EXPECT_TRUE(eventually([&] { return heard.of(event_kind::gave_up).size() == 1; }));
    EXPECT_EQ(heard.of(event_kind::gave_up)[0].why->code, errc::worker_not_found);
  }
  EXPECT_EQ(heard.all().size(), 1U);
  EXPECT_EQ(heard.others(), 0) << "nor as an actor";
}

TEST(Events, ALossWithoutANextWorkerNamesNoWait) {
  heard_events heard;
  {
    troupe::system system({.log = heard.hook()});
    device_config config = permissive();
    config.restarts = {.restarts = 0};
    device gpu = system.device(0, config);
    ASSERT_TRUE(gpu.wait_until_ready());
    kill_worker(gpu);
    EXPECT_TRUE(eventually([&] { return heard.of(event_kind::lost).size() == 1; }));
  }
  EXPECT_EQ(heard.of(event_kind::lost)[0].wait, 0ns);
}

TEST(Events, OfASystemAreThoseOfAllDevicesInTheOrderOfTime) {
  troupe::system system({.log = [](const log_entry&) {}});
  EXPECT_TRUE(system.events().empty());
  device_config config = permissive();
  config.worker_path = "/nowhere/worker";
  if (on_gpu()) config.gpu = gpu_choice::number(0);
  for (const std::int32_t ordinal : {3, 1, 2}) {
    device gpu = system.device(ordinal, config);
    EXPECT_FALSE(gpu.wait_until_ready());
    ASSERT_TRUE(eventually([&] { return !gpu.events().empty(); }));
  }
  std::vector<std::int32_t> ordinals;
  for (const device_event& e : system.events())
    ordinals.push_back(e.device);
  EXPECT_EQ(ordinals, (std::vector<std::int32_t>{3, 1, 2}));
}

TEST(Events, PsShowsWhoseWorkerAProcessIsAndWhetherItIsTheStandby) {
  troupe::system system({.log = [](const log_entry&) {}});
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.wait_until_ready());
  ASSERT_TRUE(eventually([&] { return gpu.health().standby_ready; }));
  const pid_t standby = gpu.health().standby_pid.value();
  EXPECT_TRUE(eventually([&] { return title_of(standby) == "[device 0, standby]"; }))
      << title_of(standby);
  const pid_t active = gpu.worker_pid().value();
  EXPECT_TRUE(eventually([&] { return title_of(active) == "[device 0, generation 1]"; }))
      << title_of(active);
  kill_worker(gpu);
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
  EXPECT_EQ(gpu.worker_pid(), standby);
  EXPECT_TRUE(eventually([&] { return title_of(standby) == "[device 0, generation 2]"; }))
      << title_of(standby);
}

}  // namespace
}  // namespace troupe::test
