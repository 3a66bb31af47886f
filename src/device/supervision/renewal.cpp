#include "device/supervision/renewal.hpp"

#include "device/completion/reactor.hpp"
#include "device/mailbox/mailbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {

using namespace std::chrono_literals;

void renewal::add(std::shared_ptr<promise<void>> answer, std::uint64_t after,
                  const renew_options& how, rest_sender send) {
  calls_.push_back({.answer = std::move(answer), .after = after, .drain = how.drain});
  send_ = std::move(send);
}

std::uint64_t renewal::after() const noexcept {
  std::uint64_t last = 0;
  for (const call& one : calls_)
    last = std::max(last, one.after);
  return last;
}

// True if its slot is free, or has another request.
bool renewal::is_over() const noexcept {
  const record& r = completions_.at(rest_->slot);
  return r.ticket > rest_->ticket || (r.ticket == rest_->ticket && !r.in_flight());
}

bool renewal::look(bool ready, clock::time_point now) {
  next_look_ = clock::time_point::max();
  if (!is_wanted()) return false;
  if (rest_ && has_begun() && ready && !is_let_go_) return true;
  if (rest_ && !ready) let_go();
  if (!rest_ && !ready) return false;
  if (!since_) since_ = now;
  if (!rest_ && requests_.has_free_slot()) {
    auto sent = send_();
    if (sent) {
      rest_ = *std::move(sent);
    } else if (sent.error().code != errc::mailbox_full) {
      fail(sent.error());
      return false;
    }
  }
  const auto shortest = std::ranges::min(calls_, {}, &call::drain).drain;
  if (now - *since_ >= shortest) {
    fail({.code = errc::deadline_exceeded,
          .message = fmt::format("renew: requests still ran after {} ms (renew_options::drain)",
                                 shortest / 1ms)});
    return false;
  }
  // The longer it has taken, the less a little more matters.
  next_look_ = now + std::clamp<clock::duration>((now - *since_) / 8, 20us, 1ms);
  return false;
}

// Forgets the rest if it has ended.
bool renewal::has_begun() {
  const role held(completions_);
  completions_.poll(held);
  if (is_over()) {
    forget_rest();
    return false;
  }
  const record& r = completions_.at(rest_->slot);
  return r.ticket == rest_->ticket && completions_.started(held, r.lane) >= r.place;
}

// It ends at once, wherever it is: as an ordinary request whose flag is set.
void renewal::let_go() {
  if (!rest_ || std::exchange(is_let_go_, true)) return;
  std::atomic_ref(*rest_->until.data<std::uint32_t>()).store(1, std::memory_order_release);
  requests_.header(rest_->slot).alone.store(0, std::memory_order_relaxed);
  requests_.wake_worker();
}

void renewal::forget_rest() noexcept {
  rest_.reset();
  since_.reset();
  is_let_go_ = false;
  next_look_ = clock::time_point::max();
}

void renewal::poll_and_withdraw(const wire::worker_header* segment) {
  const role held(completions_);
  completions_.poll(held);
  if (!rest_) return;
  completions_.catch_up(held);
  if (!is_over()) {
    let_go();
    completions_.answer_completed(held, rest_->slot, segment, false);
    completions_.at(rest_->slot).now = record::stage::withdrawn;
  }
  forget_rest();
}

void renewal::note_service(std::uint64_t number) {
  std::vector<std::shared_ptr<promise<void>>> answered;
  std::erase_if(calls_, [&](call& one) {
    if (number <= one.after) return false;
    answered.push_back(std::move(one.answer));
    return true;
  });
  for (const auto& one : answered)
    one->set_value();
}

void renewal::fail(const error& why) {
  let_go();
  since_.reset();
  for (const call& one : std::exchange(calls_, {}))
    one.answer->set_error(why);
}

}  // namespace troupe
