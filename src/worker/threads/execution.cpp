#include "worker/threads/execution.hpp"

#include "worker/process/crash.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

namespace troupe::worker {
namespace {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

result<void> may_run(job& j, const inbox& requests) {
  if (j.refused) return std::move(*j.refused);
  if (requests.revoked(j.slot)) {
    return error{.code = errc::cancelled, .message = "before it was run"};
  }
  if (j.deadline_ns != 0 && now_ns() >= j.deadline_ns) {
    return error{.code = errc::deadline_exceeded, .message = "before it was run"};
  }
  return {};
}

result<void> call_executor(const job& j, lane_context& lane, outbox& answers) {
  crash::running_request& running = crash::of_this_thread();
  running.ticket = j.ticket;
  running.active = true;
  answers.calls(j);
  result<void> outcome;
  try {
    outcome = j.op->run(j.op->executor, j.what().request.get(), lane, answers.reply_room(j));
  } catch (const std::bad_alloc& none) {
    outcome = error{.code = errc::out_of_memory,
                    .message = std::string("in the executor: ") + none.what()};
  } catch (const std::exception& thrown) {
    outcome = error{.code = errc::handler_failed, .message = thrown.what()};
  } catch (...) {
    outcome = error{.code = errc::handler_failed, .message = "an exception of unknown type"};
  }
  answers.returned(j);
  running.active = false;
  return outcome;
}

}  // namespace troupe::worker
