#include "process_figures.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace troupe::bench {
namespace {

std::size_t entries(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder))
    ++count;
  return count;
}

}  // namespace

std::optional<std::chrono::nanoseconds> processor_time(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

double resident_kib() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

double resident_shared_kib() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    double kib = 0;
    if (word == "RssShmem:" && file >> kib) return kib;
  }
  return 0;
}

std::size_t open_descriptors() { return entries("/proc/self/fd"); }
std::size_t running_threads() { return entries("/proc/self/task"); }

std::size_t child_processes() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (std::string pid; file >> pid;)
      ++count;
  }
  return count;
}

std::optional<double> device_memory_mib() {
  std::FILE* answer =
      ::popen("nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null", "r");
  if (answer == nullptr) return std::nullopt;
  double used = 0;
  int devices = 0;
  std::array<char, 64> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), answer) != nullptr) {
    double one = 0;
    if (std::sscanf(line.data(), "%lf", &one) != 1) continue;
    used += one;
    ++devices;
  }
  const int status = ::pclose(answer);
  if (status != 0 || devices == 0) return std::nullopt;
  return used;
}

}  // namespace troupe::bench
