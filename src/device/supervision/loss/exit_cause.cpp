#include "device/supervision/loss/exit_cause.hpp"

#include "device/completion/reactor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  return abbreviation != nullptr ? fmt::format("SIG{}", abbreviation)
                                 : fmt::format("signal {}", signal);
}

std::string_view why_exit_is_unknown(const os::exit_report& report) noexcept {
  if (report.forked_elsewhere) return "the fork server, which would, has ended or does not answer";
  struct sigaction now{};
  ::sigaction(SIGCHLD, nullptr, &now);
  const bool ignored = now.sa_handler == SIG_IGN || (now.sa_flags & SA_NOCLDWAIT) != 0;
  return ignored ? "this program ignores SIGCHLD"
                 : "something else in this program waits for its children, or it ignored SIGCHLD";
}

// The request whose executor the process was calling when it exited, if there was only one.
std::optional<std::uint64_t> only_one_called(const wire::worker_header& ended) noexcept {
  std::optional<std::uint64_t> ticket;
  for (const wire::lane_mark& lane : ended.lanes) {
    const std::uint64_t calls = lane.calls.load(std::memory_order_relaxed);
    if (calls == 0) continue;
    if (ticket) return std::nullopt;
    ticket = calls - 1;
  }
  return ticket;
}

}  // namespace

void clear_mapped_culprit(const role& held, reactor& completions, loss& what) {
  if (!what.culprit_ticket) return;
  const bool mapped = std::ranges::any_of(completions.in_flight(held), [&](std::uint16_t slot) {
    const record& r = completions.at(slot);
    return r.ticket == what.culprit_ticket && is_mapping(*r.type);
  });
  if (!mapped) return;
  what.culprit_ticket.reset();
  what.culprit_known = false;
}

void explain_by_exit(const role& held, reactor& completions, const wire::worker_header& ended,
                     const os::exit_report& report, sign_of_loss& sign) {
  const wire::crash_report& crash = ended.crash;
  loss what;
  error why{
      .code = errc::device_fault, .device = sign.why.device, .generation = sign.why.generation};
  if (report.signalled) {
    why.code_name = signal_name(report.code);
    why.vendor_code = report.code;
  }
  const auto reported = crash.signal.load(std::memory_order_acquire);
  const bool explained =
      reported != 0 &&
      (report.unknown || (report.signalled && reported == static_cast<std::uint32_t>(report.code)));
  if (explained) {
    why.code_name = signal_name(static_cast<int>(reported));
    why.vendor_code = static_cast<int>(reported);
  }
  if (explained && crash.from_outside != 0) {
    // As under a SIGKILL, no running request is to blame.
    what.from_outside = true;
    why.message = fmt::format("killed: another process sent the worker {}", why.code_name);
  } else if (explained) {
    if (crash.has_ticket != 0) what.culprit_ticket = crash.ticket;
    why.message = fmt::format("crash: the worker process ended by {}", why.code_name);
    // Other signals are sent by a process, and carry none.
    constexpr std::array with_address{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    if (std::ranges::find(with_address, static_cast<int>(reported)) != with_address.end()) {
      why.message += fmt::format(" at address {:#x}", crash.address);
    }
  } else if (report.signalled) {
    // Code in the worker ends it by one of these signals, or without one. Any other signal, SIGKILL
    // above all, comes from the system or a person.
    constexpr std::array crashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    what.from_outside = std::ranges::find(crashes, report.code) == crashes.end();
    why.message = fmt::format("{}: the worker process ended by {}",
                              what.from_outside ? "killed" : "crash", why.code_name);
  } else if (report.unknown) {
    what.doubtful = true;
    why.message = fmt::format("gone: the worker process ended, and its exit status is lost: {}",
                              why_exit_is_unknown(report));
  } else {
    what.culprit_ticket = only_one_called(ended);
    why.message = fmt::format("exit: the worker process ended with status {}", report.code);
  }
  clear_mapped_culprit(held, completions, what);
  what.of_process = !what.from_outside && !what.doubtful && !what.culprit_ticket;
  sign.what = what;
  sign.why = std::move(why);
}

}  // namespace troupe
