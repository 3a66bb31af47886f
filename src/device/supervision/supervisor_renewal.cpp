// Replaces a worker that was not lost.
#include "device/supervision/supervisor.hpp"

#include <utility>

namespace troupe {

future<void> supervisor::renew(const renew_options& how, renewal::rest_sender send) {
  if (parts_.config.isolation == isolation::thread) {
    return make_failed_future<void>(
        {.code = errc::unsupported,
         .message = "renew: a worker in isolation::thread cannot be replaced",
         .device = parts_.ordinal,
         .generation = generation()});
  }
  auto answer = std::make_shared<promise<void>>();
  future<void> renewed = answer->get_future();
  parts_.completions.track_promise(answer);
  const bool taken =
      execute([this, answer = std::move(answer), how, send = std::move(send)]() mutable {
        accept_renewal(std::move(answer), how, std::move(send));
      });
  if (!taken) return make_failed_future<void>(stop_reason());
  return renewed;
}

void supervisor::accept_renewal(std::shared_ptr<promise<void>> answer, const renew_options& how,
                                renewal::rest_sender send) {
  if (gone()) return answer->set_error(stop_reason());
  // Without a worker in service, requests wait for the next one already.
  if (how.fresh && active_) succession_.discard_next();
  const std::uint64_t in_service = active_ ? active_->number() : 0;
  renewal_.add(std::move(answer), how.fresh ? succession_.last_number() : in_service, how,
               std::move(send));
}

// Precondition: a worker is in service.
void supervisor::look_after_renewal(clock::time_point now) {
  const bool one_process = parts_.backend.description.one_process;
  const bool comes = succession_.next() != nullptr || succession_.is_start_planned();
  if (!comes && !one_process) start_next();
  const incarnation* next = succession_.next();
  const bool can_take_over =
      one_process || (succession_.can_serve() && next->warm() && next->number() > renewal_.after());
  // The one that was lost last is reaped by its own event.
  if (renewal_.look(can_take_over && settlement_.worker() == nullptr, now)) replace_drained();
}

void supervisor::replace_drained() {
  await_next(cause::renewal, renewal_.since());
  // No thread may take the pid for a worker's.
  pid_.store(-1, std::memory_order_release);
  renewal_.poll_and_withdraw(active_->segment());
  active_->kill();
  note_outcome(settlement_.take_over(
      std::move(active_),
      {.what = {.from_outside = true}, .stands_still = true, .at = current_time()}));
  if (succession_.can_serve()) return activate_next();
  // Only one process may use the device.
  state_.store(device_state::recovering, std::memory_order_release);
  reap_lost();
  start_next();
}

}  // namespace troupe
