// Workers that a process forks: they are as good as those that are started, and what becomes of the
// process is told.

#include "device/fixtures/fork_server.hpp"

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  char state = 0;
  pid_t parent = 0;
  std::sscanf(text.substr(text.rfind(')') + 1).c_str(), " %c %d", &state, &parent);
  return parent;
}

// A worker that has just ended has no parent, or has been given another one.
void kill_server_of(const device& gpu) {
  pid_t server = 0;
  ASSERT_TRUE(eventually([&] {
    const auto worker = gpu.worker_pid();
    server = worker ? parent_of(*worker) : 0;
    return server > 1 && server != ::getpid();
  }));
  ASSERT_EQ(::kill(server, SIGKILL), 0);
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

class Forked : public device_under_fault {
 protected:
  static device_config forked(std::shared_ptr<fork_server> server) {
    device_config c = config();
    c.forked_by = std::move(server);
    return c;
  }
};
INSTANTIATE_TEST_SUITE_P(Standby, Forked, ::testing::Bool(), with_or_without);

TEST_P(Forked, WorkersServeAndAreReplaced) {
  auto server = start_fork_server().value();
  device gpu = system_.device(0, forked(server));
  settle(gpu, GetParam());
  EXPECT_EQ(server->description(10s).value(), "what there is");
  const pid_t parent = parent_of(gpu.worker_pid().value());
  EXPECT_NE(parent, ::getpid());
  for (int i = 0; i < 10; ++i) {
    kill_worker(gpu);
    EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
    ASSERT_TRUE(eventually([&] { return gpu.worker_pid().has_value(); }));
    EXPECT_EQ(parent_of(gpu.worker_pid().value()), parent);
  }
}

TEST_P(Forked, HowAWorkerHasEndedAndItsLastWordsAreTold) {
  device gpu = system_.device(0, forked(start_fork_server().value()));
  settle(gpu, GetParam());
  const struct {
    fault::kind what;
    const char* code_name;
    const char* text;
  } all[] = {{fault::kind::segmentation_fault, "SIGSEGV", "crash"},
             {fault::kind::abort, "SIGABRT", "crash"},
             {fault::kind::exit, "", "exit: the worker process ended with status 0"}};
  for (const auto& one : all) {
    const auto outcome = ended(gpu.ask(fault::inject{.what = one.what}));
    ASSERT_FALSE(outcome);
    const error& why = outcome.error();
    EXPECT_EQ(why.code, errc::device_fault);
    EXPECT_EQ(why.code_name, one.code_name);
    EXPECT_NE(why.message.find(one.text), std::string::npos) << why.message;
    EXPECT_TRUE(why.message.ends_with("\nin the line of fire")) << why.message;
    gpu.forgive_all();
  }
}

TEST_P(Forked, ALostServerTakesItsWorkersAndIsReplaced) {
  device gpu = system_.device(0, forked(start_fork_server().value()));
  for (int i = 0; i < 5; ++i) {
    settle(gpu, GetParam());
    const pid_t before = gpu.worker_pid().value();
    ASSERT_NO_FATAL_FAILURE(kill_server_of(gpu));
    ASSERT_TRUE(eventually([&] { return gpu.worker_pid().value_or(before) != before; }));
    EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
  }
}

TEST_P(Forked, ALostServerIsMissedThoughAProcessOfItKeepsItsSocket) {
  device gpu = system_.device(0, forked(start_fork_server("has a child").value()));
  settle(gpu, GetParam());
  const pid_t before = gpu.worker_pid().value();
  ASSERT_NO_FATAL_FAILURE(kill_server_of(gpu));
  ASSERT_TRUE(eventually([&] { return gpu.worker_pid().value_or(before) != before; }));
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
}

TEST_P(Forked, AfterAChangeAnotherServerForksAndTheOneBeforeItEnds) {
  device gpu = system_.device(0, forked(start_fork_server("has changed").value()));
  settle(gpu, GetParam());
  const pid_t server = parent_of(gpu.worker_pid().value());
  ASSERT_TRUE(eventually([&] {
    kill_worker(gpu);
    EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
    const auto worker = gpu.worker_pid();
    return worker && parent_of(*worker) != server;
  }));
  EXPECT_TRUE(eventually([&] { return ::kill(server, 0) != 0; }));
}

TEST_P(Forked, AStoppedDeviceHasNoServerUntilItIsRestarted) {
  device gpu = system_.device(0, forked(start_fork_server().value()));
  settle(gpu, GetParam());
  const pid_t server = parent_of(gpu.worker_pid().value());
  gpu.stop();
  EXPECT_TRUE(eventually([&] { return ::kill(server, 0) != 0; }));
  ASSERT_TRUE(gpu.restart());
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
}

TEST_P(Forked, WhatTheServerFailsWithIsTheDevicesErrorForGood) {
  auto server = start_fork_server("fails").value();
  device gpu = system_.device(0, forked(server));
  const auto outcome = ended(gpu.ask(lane::marker{}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::library_missing);
  EXPECT_EQ(outcome.error().message, "there is no world\n  line 1");
  EXPECT_EQ(gpu.health().state, device_state::stopped);
  EXPECT_EQ(server->description(10s).error().code, errc::library_missing);
}

TEST_P(Forked, AServerThatLeavesOrHangsIsGivenUp) {
  for (const std::string mood : {"leaves", "hangs", "nameless", "talks"}) {
    if (mood == "talks" && GetParam()) continue;  // takes a second
    device_config c = forked(start_fork_server(mood).value());
    c.start_timeout = mood == "talks" ? 20ms : 100ms;
    troupe::system own;
    device gpu = own.device(0, c);
    const auto outcome = ended(gpu.ask(lane::marker{}));
    ASSERT_FALSE(outcome) << mood;
    EXPECT_EQ(gpu.health().state, device_state::stopped);
    if (mood == "hangs") {
      EXPECT_NE(outcome.error().message.find("importing the world"), std::string::npos)
          << outcome.error().message;
    }
  }
}

TEST_P(Forked, NothingIsLeftOfThem) {
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      troupe::system own;
      device gpu = own.device(0, forked(start_fork_server().value()));
      settle(gpu, GetParam());
      kill_worker(gpu);
      EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
    }
  };
  rounds(2);
  const std::ptrdiff_t before = open_descriptors();
  rounds(10);
  EXPECT_LE(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ForkServer, ThatSaysMoreThanThereIsRoomForIsToldSo) {
  const auto said = start_fork_server("says too much").value()->description(10s);
  ASSERT_FALSE(said);
  EXPECT_NE(said.error().message.find("larger than"), std::string::npos) << said.error().message;
}

TEST(ForkServer, ThatIsStoppedIsReplacedAndEndsAfterItsWorkers) {
  if (on_gpu()) GTEST_SKIP() << "a good start takes longer there than this test gives it";
  troupe::system system;
  device_config c = permissive();
  c.start_timeout = 300ms;
  c.forked_by = start_fork_server().value();
  device gpu = system.device(0, c);
  const auto is_ready = [&] { return gpu.health().standby_ready; };
  ASSERT_TRUE(eventually(is_ready));
  const pid_t server = parent_of(gpu.worker_pid().value());
  ASSERT_EQ(::kill(server, SIGSTOP), 0);
  kill_worker(gpu);  // the standby is its child, too
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
  EXPECT_EQ(parent_of(gpu.worker_pid().value()), server);
  ASSERT_TRUE(eventually(is_ready));
  ASSERT_EQ(::kill(server, SIGCONT), 0);  // else it would not say how that one has ended
  kill_worker(gpu);
  EXPECT_TRUE(ended(gpu.ask(lane::marker{})));
  EXPECT_TRUE(eventually([&] { return ::kill(server, 0) != 0; }));
}

TEST(ForkServer, ThatCannotBeStartedSaysWhy) {
  EXPECT_EQ(fork_server::start({}).error().code, errc::invalid_argument);
  auto none = fork_server::start({.command = {"/nowhere/server"}}).value();
  EXPECT_EQ(none->description(10s).error().code, errc::worker_not_found);
  troupe::system system;
  device_config c = permissive();
  c.forked_by = none;
  device gpu = system.device(0, c);
  const auto outcome = ended(gpu.ask(lane::marker{}));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::worker_not_found);
  EXPECT_NE(outcome.error().message.find("/nowhere/server"), std::string::npos);
}

// Turns -------------------------------------------------------------------------------------------

class Turns : public device_under_fault {};
INSTANTIATE_TEST_SUITE_P(Standby, Turns, ::testing::Bool(), with_or_without);

TEST_P(Turns, WhoWaitsForOneHasNotBegunAndIsNotNamed) {
  device_config c = config();
  c.lane_threads = 4;
  device gpu = system_.device(0, c);
  settle(gpu, GetParam());
  const std::vector<library_actor> lanes{gpu.library("test"), gpu.library("test").on_new_lane(),
                                         gpu.library("test").on_new_lane()};
  for (std::uint64_t i = 0; i < 10; ++i) {
    shared_flag first(gpu), second(gpu), first_begun(gpu), second_begun(gpu);
    auto culprit = lanes[0].ask(
        take_turn{.flag = first.tensor(), .begun = first_begun.tensor(), .exits = true});
    ASSERT_TRUE(eventually([&] { return first_begun.is_set(); }));
    auto innocent = lanes[1].ask(take_turn{.flag = second.tensor(), .begun = second_begun.tensor()},
                                 {.run_limit = 10s});
    EXPECT_TRUE(ended(lanes[2].ask(lane::marker{})));
    EXPECT_FALSE(second_begun.is_set());
    second.set();
    first.set();
    const auto outcome = ended(std::move(culprit));
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find("status 4"), std::string::npos);
    EXPECT_TRUE(ended(std::move(innocent)));
    EXPECT_TRUE(second_begun.is_set());
    EXPECT_EQ(gpu.generation(), 2 + i) << "it took a second loss to name the culprit";
    gpu.forgive_all();
  }
}

TEST_P(Turns, ARunLimitDoesNotCountTheWaitForOne) {
  device_config c = config();
  c.lane_threads = 4;
  device gpu = system_.device(0, c);
  settle(gpu, GetParam());
  const library_actor other = gpu.library("test").on_new_lane();
  shared_flag first(gpu), second(gpu), begun(gpu);
  auto long_one =
      gpu.library("test").ask(take_turn{.flag = first.tensor(), .begun = begun.tensor()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  second.set();
  auto waits = other.ask(take_turn{.flag = second.tensor()}, {.run_limit = 50ms});
  std::this_thread::sleep_for(200ms);
  first.set();
  EXPECT_TRUE(ended(std::move(long_one)));
  EXPECT_TRUE(ended(std::move(waits)));
  EXPECT_EQ(gpu.generation(), 1u);
}

}  // namespace
}  // namespace troupe::test
