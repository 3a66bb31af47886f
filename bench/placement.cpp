#include "placement.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace troupe::bench {
namespace {

namespace fs = std::filesystem;

// A worker needs some processors for itself, the program too.
constexpr std::size_t least_to_choose_from = 8;

void put_on(pid_t thread, std::span<const int> processors) {
  cpu_set_t set{};
  for (const int one : processors)
    CPU_SET(static_cast<std::size_t>(one), &set);
  (void)::sched_setaffinity(thread, sizeof set, &set);
}

std::vector<std::string> inside(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code gone;  // a process or a thread may end at any time
  for (const auto& one : fs::directory_iterator(folder, gone))
    names.push_back(one.path().filename());
  return names;
}

std::vector<std::string> children_of(const std::string& process) {
  std::vector<std::string> children;
  const fs::path threads = fs::path("/proc") / process / "task";
  for (const std::string& thread : inside(threads)) {
    std::ifstream started(threads / thread / "children");
    children.insert(children.end(), std::istream_iterator<std::string>(started), {});
  }
  return children;
}

// Moves a process and those that it has started.
void put_all_on(const std::string& process, std::span<const int> processors) {
  for (const std::string& thread : inside(fs::path("/proc") / process / "task"))
    put_on(static_cast<pid_t>(std::stol(thread)), processors);
  for (const std::string& child : children_of(process))
    put_all_on(child, processors);
}

}  // namespace

placement::placement() {
  cpu_set_t may{};
  if (::sched_getaffinity(0, sizeof may, &may) != 0) return;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &may)) all_.push_back(i);
  }
}

placement::~placement() { put_all_on("self", all_); }

void placement::move() {
  if (all_.size() < least_to_choose_from) return;
  std::vector<int> some = all_;
  std::ranges::shuffle(some, random_);
  some.resize(some.size() / 2);
  put_all_on("self", some);
}

void placement::trade() {
  if (all_.size() < 2) return;
  traded_ = !traded_;
  if (traded_) {
    std::swap(all_[0], all_[1]);
  } else {
    std::ranges::shuffle(all_, random_);
  }
  const std::span<const int> pair(all_.data(), 2);
  for (const std::string& worker : children_of("self"))
    put_all_on(worker, pair.last(1));
  put_on(0, pair.first(1));
}

}  // namespace troupe::bench
