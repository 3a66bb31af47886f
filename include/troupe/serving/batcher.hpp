#pragma once

#include <troupe/base/result.hpp>
#include <troupe/base/unique_function.hpp>
#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>
#include <troupe/core/timer_service.hpp>
#include <troupe/serving/batch_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::serving {

/// Items that a function answers together, in their order.
template <class In>
struct batch {
  batch_plan plan;
  std::vector<const In*> items;  ///< valid until the function's task has ended
};

/// A fingerprint of an item's content, for `item_terms::fingerprint`. Without its key, which is
/// drawn once in each process, content with the fingerprint of another cannot be made.
[[nodiscard]] TROUPE_EXPORT std::uint64_t fingerprint_of(std::span<const std::byte> content);

namespace detail {

[[nodiscard]] TROUPE_EXPORT error refusal_error(const admission& verdict);
[[nodiscard]] TROUPE_EXPORT error ending_error(item_ending how, const error& of_batch);
/// How a batch ended that failed so.
[[nodiscard]] TROUPE_EXPORT run_end end_of(const error& why) noexcept;
[[nodiscard]] TROUPE_EXPORT error wrong_number(std::size_t answers, std::size_t items);

/// Owns the items, calls the function and keeps the time for a `batch_queue`.
template <class In, class Out>
class batching final : public actor {
 public:
  static constexpr bool reentrant = true;
  using function = unique_function<task<std::vector<result<Out>>>(const batch<In>&)>;

  struct asked {
    In item;
    item_terms terms;
  };
  struct wake {};
  struct begun {};
  struct facts_wanted {};
  struct forgiven {
    std::uint64_t fingerprint;
  };
  struct closed {};

  batching(batch_config config, const tenant_shares& shares, std::shared_ptr<function> run)
      : queue_(std::move(config)), run_(std::move(run)) {
    queue_.tenants(shares);
  }

  future<Out> handle(asked m) {
    m.terms.deadline = std::min(m.terms.deadline, current_deadline());
    const admission verdict = queue_.admit(m.terms, now());
    if (!verdict) {
      begin();
      return make_failed_future<Out>(refusal_error(verdict));
    }
    entry& made = *(entries_[verdict.item] = std::make_shared<entry>(std::move(m.item)));
    future<Out> later = made.answer.get_future();
    pump();
    return later;
  }
  void handle(wake) {
    armed_ = time_point::max();
    pump();
  }
  task<void> handle(begun) {
    batch<In> what{std::move(planned_.front()), {}};
    planned_.pop_front();
    --told_;
    const batch_plan& plan = what.plan;
    std::vector<std::shared_ptr<entry>> kept;  // an item may end before its batch
    for (const item_id one : plan.items) {
      const auto& found = entries_.at(one);
      found->gone = found->answer.abandoned();
      if (found->gone) queue_.leave(one, now());
      kept.push_back(found);
      what.items.push_back(&found->item);
    }
    error failed;
    std::vector<result<Out>> answers;
    try {
      answers = co_await (*run_)(what);
      if (answers.size() != kept.size()) failed = wrong_number(answers.size(), kept.size());
    } catch (...) {
      failed = *troupe::detail::current_failure();
    }
    if (failed.code == errc{})
      answer(plan, std::move(answers));
    else
      fail(plan, failed);
    pump();
  }
  queue_facts handle(facts_wanted) {
    begin();
    return queue_.facts();
  }
  bool handle(forgiven m) {
    begin();
    return queue_.forgive(m.fingerprint);
  }
  void handle(closed) {
    begin();
    queue_.close();
  }

 private:
  struct entry {
    explicit entry(In i) : item(std::move(i)) {}
    In item;
    promise<Out> answer;
    bool gone = false;  ///< its future was dropped; the queue ends it without a word
  };

  [[nodiscard]] time_point now() const { return system().timers()->now(); }

  void end(item_id item, result<Out> outcome) {
    if (auto found = entries_.extract(item)) found.mapped()->answer.set_result(std::move(outcome));
  }
  void answer(const batch_plan& plan, std::vector<result<Out>> answers) {
    std::int64_t failures = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i]) {
        ++failures;
        if (answers[i].error().code == errc::device_fault) queue_.accuse(plan.items[i], 0, now());
      }
      end(plan.items[i], std::move(answers[i]));
    }
    queue_.finish(plan.id, now(), run_end::answered, 0, failures);
  }
  void fail(const batch_plan& plan, const error& why) {
    const run_end how = end_of(why);
    queue_.finish(plan.id, now(), how);
    for (const item_id one : plan.items)
      if (how == run_end::failed || entries_.at(one)->gone) end(one, why);
    for (const item_end& one : queue_.take_ended())
      end(one.item, ending_error(one.how, why));
  }
  /// A mailbox that is full refuses the message. Then others are in it, each of which tries again.
  void begin() {
    while (told_ < planned_.size() && reference(this).tell(begun{}))
      ++told_;
  }
  void pump() {
    while (auto plan = queue_.next(now()))
      planned_.push_back(*std::move(plan));
    begin();
    for (const item_end& one : queue_.take_ended())
      end(one.item, ending_error(one.how, {}));
    const time_point at = queue_.wake_at();
    if (at >= armed_) return;
    timer_.cancel();
    armed_ = at;
    timer_ = after(this, at - now(), wake{});
  }

  batch_queue queue_;
  std::shared_ptr<function> run_;
  std::deque<batch_plan> planned_;  ///< batches that are about to begin
  std::size_t told_ = 0;            ///< how many of them have a message in the mailbox
  std::unordered_map<item_id, std::shared_ptr<entry>> entries_;
  timer timer_;
  time_point armed_ = time_point::max();
};

}  // namespace detail

/// An actor that answers items in batches: `co_await embed.ask(text, {.cost = n})`. Copies are the
/// same actor. The function is a coroutine that answers each item, and may run again for the same
/// ones. If it throws, its batch is run again in pieces until the item that is the reason is alone:
/// only that one fails. A device that has stopped fails all of them.
template <class In, class Out>
class batcher {
  using batching = detail::batching<In, Out>;

 public:
  using function = typename batching::function;

  /// Throws `failure` (`invalid_argument`) for a configuration that makes no sense.
  batcher(system& in, batch_config config, function run, tenant_shares shares = {}) {
    batch_queue(config).tenants(shares);
    actor_ = in.spawn<batching>(std::move(config), std::move(shares),
                                std::make_shared<function>(std::move(run)));
  }

  /// The item's answer. An item whose future is dropped before its batch begins is not counted for
  /// or against anybody. \errors `mailbox_full`, with the reason as `code_name`, if the queue
  /// refuses it; `poisonous` while an equal item is in quarantine; `deadline_exceeded`; what the
  /// function answers or throws.
  future<Out> ask(In item, const item_terms& terms = {}, const ask_options& options = {}) const {
    return actor_.ask(typename batching::asked{std::move(item), terms}, options);
  }
  /// So that it is a `model` for `replicas`, `cascade` and `versions`.
  future<Out> operator()(In item, const item_terms& terms) const {
    return ask(std::move(item), terms);
  }
  [[nodiscard]] future<queue_facts> facts() const {
    return actor_.ask(typename batching::facts_wanted{});
  }
  /// Takes an item out of quarantine.
  future<bool> forgive(std::uint64_t fingerprint) const {
    return actor_.ask(typename batching::forgiven{fingerprint});
  }
  /// Refuses new items; those that it has are answered.
  void close() const { actor_.tell(typename batching::closed{}); }

 private:
  actor_ref<batching> actor_;
};

}  // namespace troupe::serving
