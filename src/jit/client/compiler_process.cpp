#include "jit/client/compiler_process.hpp"

#include "device/selection/locate.hpp"
#include "os/process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>

namespace troupe::jit {
namespace {

using clock = std::chrono::steady_clock;

/// Memory that both sides read and write as a file, so that neither can make an access of the other
/// fail.
result<os::unique_fd> shared_file(std::span<const std::byte> content) {
  os::unique_fd file(::memfd_create("troupe-compile", MFD_CLOEXEC));
  if (!file) return system_failure("memfd_create", errno);
  for (std::size_t at = 0; at < content.size();) {
    const ssize_t done =
        ::pwrite(file.get(), content.data() + at, content.size() - at, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return system_failure("pwrite", errno);
    at += static_cast<std::size_t>(done);
  }
  return file;
}

// The compiler can make the file arbitrarily long, without using memory of its own.
constexpr std::int64_t most_result_bytes = std::int64_t{256} << 20;

result<std::vector<std::byte>> content_of(const os::unique_fd& file) {
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return system_failure("fstat", errno);
  if (found.st_size > most_result_bytes) {
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("the compiler's result has {} bytes; {} are the most",
                                        found.st_size, most_result_bytes)};
  }
  std::vector<std::byte> content(static_cast<std::size_t>(found.st_size));
  for (std::size_t at = 0; at < content.size();) {
    const ssize_t got =
        ::pread(file.get(), content.data() + at, content.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return system_failure("pread", errno);
    at += static_cast<std::size_t>(got);
  }
  return content;
}

enum class ending : std::uint8_t { by_itself, too_late, cancelled };

ending wait_for(const os::child_process& child, clock::time_point deadline,
                const os::unique_fd& end) {
  for (;;) {
    pollfd watched[2] = {{.fd = child.ending(), .events = POLLIN, .revents = 0},
                         {.fd = end.get(), .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    if (left <= 0) return ending::too_late;
    constexpr std::int64_t longest = std::numeric_limits<int>::max();
    const int ready = ::poll(watched, 2, static_cast<int>(std::min(left, longest)));
    if (ready > 0 && watched[0].revents != 0) return ending::by_itself;
    if (ready > 0 && watched[1].revents != 0) return ending::cancelled;
  }
}

error too_much_memory(const compile_limits& limits) {
  return error{.code = errc::out_of_memory,
               .message = fmt::format("the compilation took more than its {} bytes of memory "
                                      "(compile_limits::memory_bytes)",
                                      limits.memory_bytes)};
}

error crashed(const job& what, const os::exit_report& how) {
  return error{.code = errc::library_error,
               .message = how.signalled
                              ? fmt::format("the compiler ended by signal {} ({})", how.code,
                                            ::strsignal(how.code))  // NOLINT(concurrency-mt-unsafe)
                              : fmt::format("the compiler ended with status {}", how.code),
               .library = what.links() ? "nvjitlink" : "nvrtc"};
}

}  // namespace

std::string compiler_executable(const compiler_config& config) {
  return config.compiler_path.empty() ? compiler_program() : config.compiler_path;
}

result<binary> run_job(const job& what, const compile_limits& limits, const std::string& executable,
                       const os::unique_fd& end) {
  if (::access(executable.c_str(), X_OK) != 0) {
    return error{.code = errc::worker_not_found,
                 .message = fmt::format("no compiler program at {}; install it with Troupe, or "
                                        "name it by compiler_config::compiler_path",
                                        executable)};
  }
  auto file = shared_file(encode(what));
  if (!file) return std::move(file).error();
  auto child =
      os::child_process::spawn({executable, compiler_argument, std::to_string(::getpid())}, *file);
  if (!child) return std::move(child).error();
  const auto started = clock::now();
  const auto deadline =
      limits.time < clock::duration::max() / 4 ? started + limits.time : clock::time_point::max();
  const ending how = wait_for(*child, deadline, end);
  if (how != ending::by_itself) child->kill();
  const os::exit_report report = child->reap();
  switch (how) {
    case ending::too_late:
      return error{.code = errc::deadline_exceeded,
                   .message = fmt::format("the compilation took longer than its {:g} s "
                                          "(compile_limits::time) and was ended",
                                          std::chrono::duration<double>(limits.time).count())};
    case ending::cancelled:
      return error{.code = errc::cancelled, .message = "the compiler was destroyed"};
    case ending::by_itself:
      break;
  }
  if (!report.signalled && report.code == out_of_memory_status) return too_much_memory(limits);
  if (report.signalled || report.code != 0) return crashed(what, report);
  auto content = content_of(*file);
  if (!content) return std::move(content).error();
  auto made = decode_result(*content);
  if (!made) {
    if (report.unknown) {
      return error{.code = errc::library_error,
                   .message =
                       "the compiler ended before it had written anything, and its exit "
                       "status is lost: this program ignores SIGCHLD, or waits for its children",
                   .library = what.links() ? "nvjitlink" : "nvrtc"};
    }
    return error{.code = errc::protocol_violation,
                 .message = fmt::format("{} wrote no valid result: is it of the same "
                                        "version as the library?",
                                        executable)};
  }
  if (made->failure) {
    if (made->failure->code == errc::out_of_memory) return too_much_memory(limits);
    return *std::move(made->failure);
  }
  return std::move(made->made);
}

}  // namespace troupe::jit
