// The main function of the conformance programs:
//
//   LIBRARY_conformance [--runner=direct | process | thread | recorded] [--share=N]
//   [GOOGLETEST_OPTION...]
//
// calls the executors of the CPU backend in this thread, or sends to a device whose worker is a
// process or a thread; `recorded` also runs each request in a graph. With a share only each N-th
// test runs; the seed says which.

#include "runners.hpp"
#include "scene.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace troupe::conformance {
namespace {

bool on_device = false;
bool shared_out = false;

// False if there is no such runner.
bool choose(std::string_view runner) {
  if (runner == "direct") return true;
  if (runner != "process" && runner != "thread" && runner != "recorded") return false;
  on_device = true;
  add_device(runner == "thread" ? isolation::thread : isolation::process, runner == "recorded");
  return true;
}

bool share(const std::string& of) {
  const std::uint64_t parts = std::strtoull(of.c_str(), nullptr, 10);
  if (parts == 0) return false;
  shared_out = true;
  ::setenv("GTEST_TOTAL_SHARDS", of.c_str(), 1);
  ::setenv("GTEST_SHARD_INDEX", std::to_string(test_seed() % parts).c_str(), 1);
  return true;
}

bool take(std::string_view argument) {
  constexpr std::string_view runner_option = "--runner=";
  constexpr std::string_view share_option = "--share=";
  if (argument.starts_with(runner_option)) return choose(argument.substr(runner_option.size()));
  return argument.starts_with(share_option) &&
         share(std::string(argument.substr(share_option.size())));
}

}  // namespace

std::unique_ptr<runner> make_runner() {
  return on_device ? make_device_runner() : make_direct_runner();
}
std::unique_ptr<runner> make_runner_on(const device& own) {
  return on_device ? make_device_runner_on(own) : nullptr;
}

}  // namespace troupe::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (troupe::conformance::take(argv[i])) continue;
    std::fprintf(stderr,
                 "%s: unknown option %s; there are --runner=direct, process, thread or "
                 "recorded, and --share=N\n",
                 argv[0], argv[i]);
    return 2;
  }
  const int outcome = RUN_ALL_TESTS();
  if (troupe::conformance::shared_out &&
      testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "%s: there are fewer tests than shares, and none in this one\n", argv[0]);
    return 1;
  }
  return outcome;
}
