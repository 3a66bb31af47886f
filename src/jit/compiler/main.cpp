// Compiles or links one job and ends: in a process of its own, so that a misbehaving compiler harms
// only itself.

#include "jit/client/job.hpp"
#include "jit/compiler/compile.hpp"
#include "jit/compiler/memory_guard.hpp"
#include "os/group_signals.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

namespace {

using namespace troupe;

constexpr int bad_job_status = 3;

std::vector<std::byte> read_job() {
  struct stat found{};
  if (::fstat(jit::job_descriptor, &found) != 0) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(found.st_size));
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got =
        ::pread(jit::job_descriptor, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    at += static_cast<std::size_t>(got);
  }
  return bytes;
}

bool write_result(const jit::job_result& what) {
  const std::vector<std::byte> bytes = encode(what);
  if (::ftruncate(jit::job_descriptor, 0) != 0) return false;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t done =
        ::pwrite(jit::job_descriptor, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += static_cast<std::size_t>(done);
  }
  return true;
}

// Discards the output of a compiler; its log is read separately.
void be_silent() {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::dup2(nowhere, stream);
  ::close(nowhere);
}

int serve() {
  const auto job = jit::decode_job(read_job());
  if (!job) return bad_job_status;
  if (!job->stays && ::chdir("/") != 0) return bad_job_status;
  jit::guard_memory(job->memory_bytes);
  auto made = job->links() ? link_with_nvjitlink(*job) : compile_with_nvrtc(*job);
  jit::job_result what;
  if (made) {
    what.made = *std::move(made);
  } else {
    what.failure = std::move(made).error();
    // The loader reports lack of memory in its own message, too.
    if (jit::memory_is_short()) what.failure->code = errc::out_of_memory;
  }
  return write_result(what) ? EXIT_SUCCESS : bad_job_status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != jit::compiler_argument) {
    std::fputs("troupe-compiler is started by a program that uses Troupe, not by hand\n", stderr);
    return 2;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the program has already ended, there is no one to report to.
  if (std::to_string(::getppid()) != argv[2]) return bad_job_status;
  os::ignore_group_signals();
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  be_silent();
  int status = bad_job_status;
  try {
    status = serve();
  } catch (const std::bad_alloc&) {
    status = jit::out_of_memory_status;
  }
  // Without destructors: the system reclaims the compiler's threads and memory.
  std::_Exit(status);
}
