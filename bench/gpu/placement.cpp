#include "placement.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace troupe::bench {
namespace {

namespace fs = std::filesystem;

// A worker needs some processors for itself, the program too.
constexpr std::size_t least_to_choose_from = 8;

template <class Each>
void for_threads_of(const std::string& process, Each&& each) {
  std::error_code gone;  // a process or a thread may end at any time
  for (const auto& thread : fs::directory_iterator("/proc/" + process + "/task", gone)) {
    each(static_cast<pid_t>(std::stol(thread.path().filename())));
    std::ifstream children(thread.path() / "children");
    for (std::string child; children >> child;)
      for_threads_of(child, each);
  }
}

}  // namespace

placement::placement() {
  cpu_set_t may{};
  if (::sched_getaffinity(0, sizeof may, &may) != 0) return;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &may)) all_.push_back(i);
  }
}

placement::~placement() { put_on(all_); }

void placement::move() {
  if (all_.size() < least_to_choose_from) return;
  std::vector<int> some = all_;
  std::ranges::shuffle(some, random_);
  some.resize(some.size() / 2);
  put_on(some);
}

void placement::put_on(const std::vector<int>& processors) {
  cpu_set_t set{};
  for (const int one : processors)
    CPU_SET(static_cast<std::size_t>(one), &set);
  for_threads_of("self",
                 [&](pid_t thread) { (void)::sched_setaffinity(thread, sizeof set, &set); });
}

}  // namespace troupe::bench
