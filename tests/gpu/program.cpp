#include "program.hpp"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

pid_t spawn_self(const std::vector<std::string>& words, int descriptor) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> all{self};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  pointers.reserve(all.size() + 1);
  for (std::string& one : all)
    pointers.push_back(one.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (descriptor >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, descriptor, companion::companion_descriptor);
  }
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, self.c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + self);
  return pid;
}

ending wait_for(pid_t pid, std::chrono::nanoseconds timeout) {
  ending end;
  const auto deadline = clock::now() + timeout;
  int status = 0;
  pid_t got = 0;
  while ((got = ::waitpid(pid, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
    if (end.in_time && clock::now() >= deadline) {
      end.in_time = false;
      ::kill(pid, SIGKILL);
    }
    std::this_thread::sleep_for(5ms);
  }
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

// The name of each descriptor, without its number.
std::vector<std::string> descriptor_names() {
  std::vector<std::string> names;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = std::filesystem::read_symlink(one.path(), gone).string();
    names.push_back(name.substr(0, name.find('[')));
  }
  std::ranges::sort(names);
  return names;
}

std::size_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Ended or not, of all threads of this program.
std::size_t children() {
  std::size_t all = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(thread.path() / "children");
    for (pid_t one = 0; list >> one;)
      ++all;
  }
  return all;
}

std::uint64_t shared_mapped_bytes() {
  std::uint64_t all = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:troupe") == std::string::npos) continue;
    std::size_t dash = 0;
    const std::uint64_t begin = std::stoull(line, &dash, 16);
    all += std::stoull(line.substr(dash + 1), nullptr, 16) - begin;
  }
  return all;
}

}  // namespace

bool arguments::has(const std::string& name) const {
  return std::find(words_.begin(), words_.end(), name) != words_.end();
}

std::string arguments::text(const std::string& name, const std::string& otherwise) const {
  const auto found = std::find(words_.begin(), words_.end(), name);
  return found == words_.end() || found + 1 == words_.end() ? otherwise : *(found + 1);
}

std::int64_t arguments::number(const std::string& name, std::int64_t otherwise) const {
  return std::stoll(text(name, std::to_string(otherwise)));
}

holdings read_holdings() {
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return {.descriptors = descriptor_names(),
          .threads = entries("/proc/self/task"),
          .resident_bytes = resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
          .children = children(),
          .shared_bytes = shared_mapped_bytes()};
}

std::string ending::to_string() const {
  if (!in_time) return "did not end in time";
  if (signal != 0) return "ended by signal " + std::to_string(signal);
  return "ended with status " + std::to_string(status);
}

ending run_self(const std::vector<std::string>& words, std::chrono::nanoseconds timeout) {
  return wait_for(spawn_self(words, -1), timeout);
}

companion::companion(const std::vector<std::string>& words) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("socketpair");
  }
  socket_ = ends[0];
  pid_ = spawn_self(words, ends[1]);
  ::close(ends[1]);
}

companion::~companion() {
  if (pid_ > 0) (void)finish(5s);
}

ending companion::finish(std::chrono::nanoseconds timeout) {
  ::close(std::exchange(socket_, -1));
  return wait(timeout);
}

ending companion::wait(std::chrono::nanoseconds timeout) {
  const ending end = wait_for(std::exchange(pid_, -1), timeout);
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  return end;
}

void die_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace troupe::gpu_test
