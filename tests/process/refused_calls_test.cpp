// A filter of system calls refuses some, as containers' filters do.

#include "operations.hpp"
#include "under_sanitizers.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <string>

namespace troupe::test {
namespace {

struct call {
  const char* name;
  long number;
  bool of_sanitizers = false;  ///< they end a program that is refused it
};

// For this process and all that it starts. The first of a program's threads calls it alone.
void refuse(long number) {
  std::array<sock_filter, 4> rules{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{.len = rules.size(), .filter = rules.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) ::_exit(10);
}

// Starts, computes, waits with and without the role, loses workers and goes on, and ends.
void use_a_device() {
  troupe::system system;
  device_config config = with_operations();
  config.fault_injection = true;
  device gpu = system.device(0, config);
  if (auto up = gpu.wait_until_ready(); !up) throw failure(up.error());
  auto t = gpu.tensor<float>({1 << 16}).value();
  for (int i = 0; i < 100; ++i)
    gpu.ask(memory::fill{.to = t, .value = i}).get();
  const auto later = gpu.ask(lane::marker{}).then([] { return 7; });
  if (!later.wait_for(std::chrono::seconds(20))) throw failure({.code = errc::timed_out});
  if (!eventually([&] { return gpu.health().standby_ready; })) {
    throw failure({.code = errc::timed_out, .message = "no standby"});
  }
  const auto hung = gpu.ask(fault::inject{.what = fault::kind::hang},
                            {.run_limit = std::chrono::milliseconds(100)});
  if (!hung.wait_for(std::chrono::seconds(20))) {
    throw failure({.code = errc::timed_out, .message = "a hang is not ended"});
  }
  if (!eventually([&] { return gpu.worker_pid().has_value(); })) {
    throw failure({.code = errc::timed_out, .message = "no worker after a hang"});
  }
  const std::uint64_t before = gpu.generation();
  ::kill(gpu.worker_pid().value(), SIGKILL);
  if (!eventually([&] { return gpu.generation() > before; })) {
    throw failure({.code = errc::timed_out, .message = "no second worker"});
  }
  gpu.ask(memory::fill{.to = t, .value = 1}).get();
}

// Waits as long as an operation sleeps, with a continuation before: a thread that spins meanwhile
// takes that long of a processor.
void wait_asleep() {
  troupe::system system;
  device gpu = system.device(0, with_operations());
  (void)gpu.ask(lane::marker{}).then([] { return 7; }).get();
  const auto used = [] {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto before = used();
  (void)gpu.ask(run_command{.command = "sleep 2"}).get();
  if (used() - before < std::chrono::milliseconds(200)) return;
  throw failure({.code = errc::timed_out, .message = "it spins"});
}

[[noreturn]] void without(long number, void (*what)()) {
  ::alarm(60);
  refuse(number);
  try {
    what();
  } catch (const failure& why) {
    std::fprintf(stderr, "%s\n", why.what());
    ::_exit(why.code() == errc::timed_out ? 1 : 2);
  }
  ::_exit(0);
}

std::string name_of(const testing::TestParamInfo<call>& which) { return which.param.name; }

class CallThatIsNotNeeded : public testing::TestWithParam<call> {};

TEST_P(CallThatIsNotNeeded, IsMissedByNobody) {
  if (GetParam().of_sanitizers && under_sanitizers) GTEST_SKIP() << "sanitizers need it";
  EXPECT_EXIT(without(GetParam().number, &use_a_device), testing::ExitedWithCode(0), "");
}
INSTANTIATE_TEST_SUITE_P(Calls, CallThatIsNotNeeded,
                         testing::Values(call{"preadv2", SYS_preadv2},
                                         call{"futex_waitv", SYS_futex_waitv},
                                         call{"pidfd_open", SYS_pidfd_open},
                                         call{"pidfd_send_signal", SYS_pidfd_send_signal},
                                         call{"close_range", SYS_close_range},
                                         call{"fallocate", SYS_fallocate},
                                         call{"sched_getaffinity", SYS_sched_getaffinity, true},
                                         call{"prlimit64", SYS_prlimit64, true},
                                         call{"sigaltstack", SYS_sigaltstack, true}),
                         &name_of);

class CallToSleepBy : public testing::TestWithParam<call> {};

TEST_P(CallToSleepBy, IsNoReasonToSpin) {
  EXPECT_EXIT(without(GetParam().number, &wait_asleep), testing::ExitedWithCode(0), "");
}
INSTANTIATE_TEST_SUITE_P(Calls, CallToSleepBy,
                         testing::Values(call{"preadv2", SYS_preadv2},
                                         call{"futex_waitv", SYS_futex_waitv}),
                         &name_of);

class CallThatIsNeeded : public testing::TestWithParam<call> {};

TEST_P(CallThatIsNeeded, IsATypedErrorWhereItIsRefused) {
  if (GetParam().of_sanitizers && under_sanitizers) GTEST_SKIP() << "sanitizers need it";
  EXPECT_EXIT(without(GetParam().number, &use_a_device), testing::ExitedWithCode(2),
              "Operation not permitted");
}
INSTANTIATE_TEST_SUITE_P(Calls, CallThatIsNeeded,
                         testing::Values(call{"memfd_create", SYS_memfd_create},
                                         call{"eventfd2", SYS_eventfd2},
                                         call{"socketpair", SYS_socketpair},
                                         call{"ppoll", SYS_ppoll}, call{"sendmsg", SYS_sendmsg},
                                         call{"recvmsg", SYS_recvmsg},
                                         call{"madvise", SYS_madvise, true}),
                         &name_of);

}  // namespace
}  // namespace troupe::test
