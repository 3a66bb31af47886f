#include "device/staged_copy.hpp"

#include "core/spin_wait.hpp"
#include "device/streaming_copy.hpp"

#include <troupe/ops/memory/copy.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ranges>
#include <thread>
#include <utility>

namespace troupe {
namespace {

// Large enough that the cost of a request vanishes.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
// What is in flight must last until a completion has been heard of and another piece sent.
constexpr std::size_t stages = 4;

// With a crew, whose device is faster: it copies 4 MiB in 75 µs, and each piece costs it up to 3 µs
// beside. They share a lane, which does not stop for their marks. A copy begins, or ends, with
// small pieces, so that the device does not wait for the first nor the program for the last. Those
// in between grow with what there is of the copy before them, or halve with what is left.
constexpr std::size_t smallest_crew_piece_bytes = std::size_t{512} << 10;
constexpr std::size_t largest_crew_piece_bytes = std::size_t{4} << 20;
// Enough for the link never to wait; with more of them what the crew writes has left the caches by
// the time the device reads it.
constexpr std::size_t crew_stages = 8;
// Little for a processor, so that all are done with a piece at about the same time.
constexpr std::size_t part_bytes = std::size_t{64} << 10;
// Not worth the way to another thread.
constexpr std::size_t done_at_once_bytes = std::size_t{128} << 10;

// Of a copy in, this much goes past the caches: the device is at it before its lines have moved.
constexpr std::size_t ramp_bytes = std::size_t{4} << 20;
// So goes all of it where processors do not give up their lines. That takes from the bandwidth of
// memory what the device reads it with: twelve threads leave it a quarter of its rate, these nearly
// all of it.
constexpr unsigned most_threads_past_caches = 6;

// Between looks for room, when nothing of the copy is in flight that would make some.
constexpr auto pause_without_room = std::chrono::microseconds(50);

constexpr std::size_t in_parts(std::size_t bytes) noexcept {
  return (bytes + part_bytes - 1) / part_bytes;
}

}  // namespace

future<void> staged_copy::in(std::shared_ptr<device_core> core, std::span<const std::byte> from,
                             const any_tensor& to) {
  auto copy = std::make_shared<staged_copy>(std::move(core), to);
  copy->source_ = from.data();
  if (copy->core_->memory().on_device() && !can_share_lines()) {
    copy->threads_ = std::min(copy->threads_, most_threads_past_caches);
  }
  return copy->start();
}

future<void> staged_copy::out(std::shared_ptr<device_core> core, const any_tensor& from,
                              std::span<std::byte> to) {
  auto copy = std::make_shared<staged_copy>(std::move(core), from);
  copy->target_ = to.data();
  return copy->start();
}

staged_copy::staged_copy(std::shared_ptr<device_core> core, const any_tensor& device_side)
    : core_(std::move(core)),
      tensor_(device_side),
      bytes_(static_cast<std::size_t>(device_side.count() * size_of(device_side.type()))),
      lane_(core_->lanes_of("memory").lanes->pick()),
      unsent_(bytes_),
      done_(&core_->completions()),
      sent_(&core_->completions()) {
  const bool by_crew = core_->crew().has_this_thread();
  in_pieces_ = tensor_.packed();
  has_crew_ = !by_crew && core_->crew().most_threads() > 0 && bytes_ > done_at_once_bytes;
  threads_ = core_->crew().most_threads();
  std::size_t count = 1;
  if (in_pieces_) {
    count = has_crew_ ? std::min(crew_stages, bytes_ / smallest_crew_piece_bytes + 1)
                      : std::min(stages, bytes_ / piece_bytes + 1);
    count = std::min<std::size_t>(count, core_->mailbox_capacity());
  }
  stages_ = std::vector<stage>(count);
  for (stage& s : stages_)
    s.copy = this;
}

future<void> staged_copy::start() {
  future<void> answer = done_.get_future();
  future<void> all_sent = sent_.get_future();
  if (bytes_ == 0) sent_.set_value();
  // This count keeps the copy from ending before all of its first pieces are under way.
  under_way_ = 1;
  if (has_crew_) {
    work_ = core_->crew().open(
        {.most_batches = pieces(), .parts = in_parts(bytes_), .most_threads = threads_});
  }
  if (has_crew_ && source_ != nullptr) {
    begin_together();
  } else {
    begin_alone();
  }
  end_one(std::nullopt);
  if (has_crew_) {
    // What has ended makes room for more, which nobody hears of while all copy.
    while (!all_sent.ready() && core_->crew().help())
      core_->completions().try_poll();
  }
  all_sent.wait();
  return answer;
}

// The crew, and this thread, at the first pieces of a copy in.
void staged_copy::begin_together() {
  stage& first = stages_.front();
  if (!begin_piece(first)) return;
  copy_piece(first);
  for (stage& s : std::span(stages_).subspan(1)) {
    if (!begin_piece(s)) break;
    copy_piece(s);
  }
  // Once there is nothing to help with, others are at what is left, and they wait for nobody. To
  // look for more takes the crew's mutex, so that is done seldom.
  constexpr int looks_between = 8;
  detail::spin_wait spin(std::chrono::hours(1), 1);
  const auto is_full = [this] { return first_is_full_.load(std::memory_order_acquire); };
  while (!is_full()) {
    if (core_->crew().help_with(first)) continue;
    for (int i = 0; i < looks_between && !is_full(); ++i)
      spin.step();
  }
  send(first, device_core::no_room::as_configured);
  {
    const std::lock_guard lock(mutex_);
    begun_ = true;
  }
  send_waiting();
}

void staged_copy::begin_alone() {
  begun_ = true;
  stage& first = stages_.front();
  if (!begin_piece(first)) return;
  if (source_ != nullptr) copy_bytes(first, first.begin, first.end);
  send(first, device_core::no_room::as_configured);
  for (stage& s : std::span(stages_).subspan(1)) {
    if (!begin_piece(s)) break;
    set_going(s);
  }
}

std::size_t staged_copy::piece_bytes_at(std::size_t begin) const noexcept {
  const std::size_t left = bytes_ - begin;
  if (!in_pieces_) return left;
  std::size_t bytes = piece_bytes;
  if (has_crew_) {
    bytes = std::clamp(source_ != nullptr ? 2 * begin : left / 2, smallest_crew_piece_bytes,
                       largest_crew_piece_bytes);
  }
  const auto element = static_cast<std::size_t>(size_of(tensor_.type()));
  return std::min(left, bytes / element * element);
}

std::size_t staged_copy::pieces() const noexcept {
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < bytes_; begin += piece_bytes_at(begin))
    ++count;
  return count;
}

// False when there is no other, or no memory for it, which fails the copy.
bool staged_copy::begin_piece(stage& s) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_ || next_ >= bytes_) return false;
    s.begin = next_;
    s.end = next_ = next_ + piece_bytes_at(next_);
    ++under_way_;
  }
  if (s.end - s.begin == bytes_) {
    s.device_side = tensor_;
  } else {
    const std::int64_t element = size_of(tensor_.type());
    const auto flat = tensor_.reshape(shape{tensor_.count()});
    s.device_side = *flat->slice(0, static_cast<std::int64_t>(s.begin) / element,
                                 static_cast<std::int64_t>(s.end) / element);
  }
  s.staging = {};
  if (!s.room || s.room->bytes < s.end - s.begin) {
    s.room = {};
    auto room = core_->allocate(memory_space::host, s.end - s.begin);
    if (!room) {
      end_one(std::move(room).error());
      return false;
    }
    s.room = *std::move(room);
  }
  s.staging = any_tensor::owned(s.room, tensor_.type(), shape(s.device_side.extents()));
  return true;
}

// The next copy gets first what is given back last: what this one used first, and processors are
// the likeliest to have no more in caches of their own.
void staged_copy::give_back_staging() noexcept {
  for (stage& s : std::views::reverse(stages_)) {
    s.staging = {};
    s.room = {};
  }
}

void staged_copy::set_going(stage& s) {
  if (source_ != nullptr) {
    copy_piece(s);
  } else {
    send(s, device_core::no_room::come_again);
  }
}

// Between the program's memory and the staging memory.
void staged_copy::copy_piece(stage& s) {
  if (!has_crew_) {
    copy_bytes(s, s.begin, s.end);
    return on_copied(s);
  }
  const auto parts = static_cast<std::uint32_t>(in_parts(s.end - s.begin));
  s.parts_left.store(parts, std::memory_order_relaxed);
  // Once it is added it may end, and the whole copy.
  const std::shared_ptr<copy_crew::order> work = work_;
  core_->crew().add(work, {.what = {shared_from_this(), &s}, .parts = parts});
}

void staged_copy::stage::do_part(std::uint32_t part) {
  const std::size_t from = begin + part * part_bytes;
  copy->copy_bytes(*this, from, std::min(end, from + part_bytes));
  if (parts_left.fetch_sub(1, std::memory_order_acq_rel) == 1) copy->on_copied(*this);
}

void staged_copy::copy_bytes(const stage& s, std::size_t begin, std::size_t end) const noexcept {
  std::byte* const staged = s.staging.address() + (begin - s.begin);
  const bool in = source_ != nullptr;
  std::byte* const to = in ? staged : target_ + begin;
  const std::byte* const from = in ? source_ + begin : staged;
  if (!core_->memory().on_device()) {
    std::memcpy(to, from, end - begin);
  } else if (in && (begin < ramp_bytes || !can_share_lines())) {
    copy_past_caches(to, from, end - begin);
  } else if (in) {
    copy_into_shared_cache(to, from, end - begin);
  } else {
    copy_from_device(to, from, end - begin);
  }
}

void staged_copy::on_copied(stage& s) {
  if (target_ != nullptr) return end_piece(s);
  if (s.begin == 0) return first_is_full_.store(true, std::memory_order_release);
  bool early = false;
  {
    const std::lock_guard lock(mutex_);
    early = !begun_;
    if (early) waiting_.push_back(&s);
  }
  if (early) return end_one(std::nullopt);
  send(s, device_core::no_room::come_again);
}

// False when there is no room: the piece waits. Once it is sent its stage belongs to the worker,
// and may have had its next piece by the time this returns.
bool staged_copy::send(stage& s, device_core::no_room full) {
  bool failed = false;
  {
    const std::lock_guard lock(mutex_);
    failed = failure_.has_value();
  }
  if (failed) {
    end_one(std::nullopt);
    return true;
  }
  memory::copy request{.from = s.staging, .to = s.device_side};
  if (target_ != nullptr) std::swap(request.from, request.to);
  const std::size_t bytes = s.end - s.begin;
  completion done = [self = shared_from_this(), &s](const std::byte*, error* failure) {
    self->on_done(s, failure);
  };
  const auto next =
      s.end < bytes_ ? device_core::next_in_lane::follows : device_core::next_in_lane::is_unknown;
  const auto sent = core_->send(request_type_of<memory::copy>(), &request, {}, lane_,
                                std::move(done), full, next);
  if (sent) {
    note_sent(bytes);
  } else if (full == device_core::no_room::come_again && sent.error().code == errc::mailbox_full) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(&s);
    }
    end_one(std::nullopt);
    return false;
  }
  return true;
}

void staged_copy::send_waiting() {
  for (;;) {
    stage* next = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (failure_ || waiting_.empty()) return;
      next = waiting_.back();
      waiting_.pop_back();
      ++under_way_;
    }
    if (!send(*next, device_core::no_room::come_again)) return;
  }
}

void staged_copy::note_sent(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    unsent_ -= bytes;
    if (unsent_ != 0 || failure_) return;  // a failure has said so already
  }
  sent_.set_value();
}

// With the reactor's role, or of a piece that was refused.
void staged_copy::on_done(stage& s, error* failure) {
  if (failure != nullptr) return end_one(std::move(*failure));
  if (source_ != nullptr) return end_piece(s);
  copy_piece(s);
}

// In its place comes what waits for room, and the next one.
void staged_copy::end_piece(stage& s) {
  send_waiting();
  if (begin_piece(s)) set_going(s);
  end_one(std::nullopt);
}

void staged_copy::end_one(std::optional<error> failure) {
  bool gives_up = false;
  bool last = false;
  bool waits_for_room = false;
  {
    const std::lock_guard lock(mutex_);
    if (failure && !failure_) {
      failure_ = std::move(failure);
      gives_up = unsent_ != 0;
    }
    last = --under_way_ == 0;
    waits_for_room = last && !failure_ && !waiting_.empty();
    if (waits_for_room) under_way_ = 1;
  }
  if (gives_up) sent_.set_value();
  if (!last) return;
  if (waits_for_room) {
    // By the device thread, which others do not wait for: this one may have the reactor's role.
    const bool comes = core_->watch().execute([self = shared_from_this()] {
      std::this_thread::sleep_for(pause_without_room);
      self->send_waiting();
      self->end_one(std::nullopt);
    });
    if (!comes) end_one(core_->watch().stop_reason());
    return;
  }
  give_back_staging();
  // Which holds this copy, as long as it has its parts.
  if (has_crew_) core_->crew().close(std::exchange(work_, nullptr));
  if (failure_) {
    done_.set_error(std::move(*failure_));
  } else {
    done_.set_value();
  }
}

}  // namespace troupe
