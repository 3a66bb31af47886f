#include "forked_worker.hpp"

#include "device/mailbox/mailbox.hpp"
#include "memory/memory_pool.hpp"
#include "worker/intake/inbox.hpp"
#include "worker/intake/outbox.hpp"
#include "worker/threads/lanes.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace troupe::kills {

result<std::unique_ptr<forked_worker>> forked_worker::start(
    const worker_plan& plan, std::uint64_t number, const operation_table& operations,
    std::function<void(const last_moment&)> on_end) {
  const std::size_t bytes = wire::worker_segment_bytes(plan.requests->capacity());
  auto memory = os::create_shared_memory("troupe-worker", bytes);
  if (!memory) return std::move(memory).error();
  auto pages = os::map(*memory, bytes, os::protection::read_write);
  if (!pages) return std::move(pages).error();
  std::unique_ptr<forked_worker> made(
      new forked_worker(plan, number, *std::move(memory), *std::move(pages), std::move(on_end)));
  plan.requests->bells(number).worker_sleeps.store(1, std::memory_order_relaxed);
  const pid_t program = ::getpid();
  made->pid_ = ::fork();
  if (made->pid_ < 0) return system_failure("fork", errno);
  if (made->pid_ == 0) made->serve(operations, program);
  made->is_ready();
  return made;
}

forked_worker::forked_worker(const worker_plan& plan, std::uint64_t number, os::unique_fd memory,
                             os::mapping pages, std::function<void(const last_moment&)> on_end)
    : incarnation(plan, number),
      plan_(plan),
      segment_memory_(std::move(memory)),
      segment_pages_(std::move(pages)),
      on_end_(std::move(on_end)) {}

forked_worker::~forked_worker() { forked_worker::end(); }

// In the new process, which ends by being killed, also when the program is.
void forked_worker::serve(const operation_table& operations, pid_t program) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != program) ::_exit(1);  // it was killed before
  const mailbox& sent = *plan_.requests;
  const auto pages = os::map(sent.memory(), sent.total_bytes(), os::protection::read).value();
  const auto* header = reinterpret_cast<const wire::mailbox_header*>(pages.address());
  worker::inbox requests = worker::inbox::open(header, pages.bytes()).value();
  wire::doorbells& bells = plan_.requests->bells(number());
  worker::outbox answers(segment(), header, &bells, plan_.program_wakes);
  const auto range_of = [](const memory_pool& pool) {
    return wire::address_range{pool.base(), pool.bytes()};
  };
  const worker::threaded_lanes lanes(
      {.requests = requests,
       .answers = answers,
       .operations = operations,
       .ranges = {range_of(*plan_.device_memory), range_of(*plan_.host_memory)},
       .bells = bells,
       .worker = number(),
       .threads = 1 + static_cast<int>(number() % 3),
       .in_process = false});
  for (;;)
    ::pause();
}

bool forked_worker::has_ended() const noexcept {
  siginfo_t how{};
  return pid_ > 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         how.si_pid == pid_;
}

void forked_worker::kill() noexcept {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

os::exit_report forked_worker::end() noexcept {
  if (pid_ <= 0) return {};
  forked_worker::kill();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  last_moment then{.asleep = plan_.requests->bells(number()).worker_sleeps.load() != 0};
  for (const wire::lane_mark& mark : segment()->lanes) {
    const std::uint64_t completed = mark.completed.load();
    then.running = then.running || mark.started.load() > completed;
    then.answering = then.answering || mark.replied.load() > completed;
  }
  if (on_end_) on_end_(then);
  return {.signalled = WIFSIGNALED(status),
          .code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)};
}

void forked_environment::pause(clock::duration how_long) noexcept {
  std::this_thread::sleep_for(how_long);
}

result<std::unique_ptr<incarnation>> forked_environment::start_worker(
    const worker_plan& plan, std::uint64_t number, const std::vector<frozen_range>&) {
  auto made = forked_worker::start(plan, number, operations_, [this](const last_moment& then) {
    if (on_end) on_end(then);
  });
  if (!made) return std::move(made).error();
  if (on_start) on_start(**made, plan);
  return std::unique_ptr<incarnation>(*std::move(made));
}

}  // namespace troupe::kills
