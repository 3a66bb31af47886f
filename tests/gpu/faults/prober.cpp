#include "prober.hpp"

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;

constexpr auto interval = 200us;
constexpr std::size_t most_in_flight = 64;
constexpr auto probe_timeout = 20s;

}  // namespace

// Shared with the completions, which may outlive the prober.
struct prober::shared_notes {
  std::mutex mutex;
  std::vector<right_answer> right;
  std::uint64_t right_count = 0;
  std::uint64_t wrong = 0;
  std::uint64_t blamed = 0;
  std::uint64_t failed = 0;
};

prober::prober(subject& s, const library_actor& always, const library_actor& spare)
    : subject_(s),
      always_(always),
      spare_(spare),
      notes_(std::make_shared<shared_notes>()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

prober::~prober() = default;

void prober::run(const std::stop_token& stop) {
  std::uint64_t generation = subject_.gpu().generation();
  auto next = clock::now();
  while (!stop.stop_requested()) {
    if (const std::uint64_t now = subject_.gpu().generation(); now != generation) {
      generation = now;
      ask(spare_);
    }
    if (clock::now() >= next && in_flight_.size() < most_in_flight) {
      ask(always_);
      next = clock::now() + interval;
    }
    while (!in_flight_.empty() && in_flight_.front().ready())
      in_flight_.pop_front();
    std::this_thread::sleep_for(50us);
  }
}

void prober::ask(const library_actor& where) {
  ++counts_.asked;
  in_flight_.push_back(subject_.ask_question(where).then(
      [notes = notes_, gpu = subject_.gpu(), expected = subject_.answer(),
       hostile = subject_.hostile_workers()](result<double> answer) {
        const right_answer now{clock::now(), gpu.generation()};
        const std::lock_guard lock(notes->mutex);
        if (answer) {
          if (*answer == expected) {
            ++notes->right_count;
            notes->right.push_back(now);
          } else {
            ++notes->wrong;
          }
        } else if (const errc code = answer.error().code;
                   code == errc::device_fault || code == errc::poisonous ||
                   (hostile && code == errc::protocol_violation)) {
          ++notes->blamed;
        } else {
          ++notes->failed;
        }
      }));
}

std::optional<prober::clock::time_point> prober::first_answer(clock::time_point since,
                                                              std::uint64_t generation) {
  std::optional<clock::time_point> first;
  (void)eventually([&] {
    const std::lock_guard lock(notes_->mutex);
    for (const right_answer& a : notes_->right) {
      if (a.at < since || a.generation < generation) continue;
      if (!first || a.at < *first) first = a.at;
    }
    return first.has_value();
  });
  return first;
}

void prober::forget() {
  const std::lock_guard lock(notes_->mutex);
  notes_->right.clear();
}

prober::counts prober::finish() {
  thread_.request_stop();
  thread_.join();
  for (future<void>& one : in_flight_) {
    if (!one.wait_for(probe_timeout)) ++counts_.lost;
  }
  in_flight_.clear();
  const std::lock_guard lock(notes_->mutex);
  counts_.right = notes_->right_count;
  counts_.wrong = notes_->wrong;
  counts_.blamed = notes_->blamed;
  counts_.failed = notes_->failed;
  return counts_;
}

}  // namespace troupe::gpu_test
