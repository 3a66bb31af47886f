// The main function of the conformance programs:
//
//   LIBRARY_conformance [--runner=direct | --runner=process | --runner=thread]
//   [GOOGLETEST_OPTION...]
//
// calls the executors of the CPU backend in this thread, or sends to a device whose worker is a
// process or a thread.

#include "runners.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

namespace troupe::conformance {
namespace {

bool on_device = false;

// False if there is no such runner.
bool choose(std::string_view runner) {
  if (runner == "direct") return true;
  if (runner != "process" && runner != "thread") return false;
  on_device = true;
  add_device(runner == "process" ? isolation::process : isolation::thread);
  return true;
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
  constexpr std::string_view option = "--runner=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument.starts_with(option) &&
        troupe::conformance::choose(argument.substr(option.size()))) {
      continue;
    }
    std::fprintf(stderr, "%s: unknown option %s; there is --runner=direct, process or thread\n",
                 argv[0], argv[i]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
