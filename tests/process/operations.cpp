#include "operations.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

namespace troupe::test {
namespace {

int mappings_of_troupe() {
  int count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    count += line.find("/memfd:troupe-") != std::string::npos ? 1 : 0;
  return count;
}

result<std::int64_t> run(const run_command& r, lane_context&) {
  const int status = std::system(r.command.c_str());  // NOLINT(concurrency-mt-unsafe)
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

result<std::int64_t> fork(const fork_child& r, lane_context&) {
  const pid_t child = ::fork();
  if (child < 0) return system_failure("fork", errno);
  if (child == 0) {
    switch (r.what) {
      case deed::counts_mappings:
        ::_exit(mappings_of_troupe());
      case deed::aborts:
        std::abort();
      case deed::stays:
        for (;;)
          ::pause();
    }
  }
  if (r.what == deed::stays) return child;
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return system_failure("waitpid", errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

}  // namespace

void add_operations(operation_table& table) {
  table.add(&run);
  table.add(&fork);
}

}  // namespace troupe::test
