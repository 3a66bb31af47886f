#pragma once

#include "device_use.hpp"

#include <troupe/base/error.hpp>
#include <troupe/core/supervision.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::model {

/// The documented fate of a device's requests. It gets the actions of its workers and its callers,
/// and each answer; it reports answers that are wrong, too early, missing, or one too many, and
/// workers that must not do what they do.
class device_model {
 public:
  using time = std::chrono::steady_clock::time_point;

  struct limits {
    restart_budget budget;
    backoff wait;
    time now;
    bool queues = false;  ///< its workers have them
    std::chrono::nanoseconds quarantine = std::chrono::minutes(1);
  };
  explicit device_model(const limits& l);

  /// The first thing that was not as it should be; nothing so far.
  [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

  // Callers. `id` is the number of the request among all that were tried.
  struct time_limits {
    std::optional<time> deadline;
    std::chrono::nanoseconds run{};
  };
  void sends(int id, const use_plan& what, const time_limits& within);
  void is_sent(int id, std::uint64_t ticket, time now);
  void cancels(int id);
  void stops(errc code);
  void is_answered(int id, errc code, time now);

  // The worker in service.
  void begins(std::uint64_t ticket, bool alone, time now);
  void passes_over(std::uint64_t ticket);  ///< in a queue: takes its place and does nothing
  void completes(std::uint64_t ticket, errc code);  ///< `errc{}`: well
  [[nodiscard]] bool has_answer(std::uint64_t ticket);
  /// Why the supervisor takes it for lost.
  struct sign {
    enum class sort { end, context_lost, silence, hang } what{};
    std::optional<std::uint64_t> named{};  ///< by its crash report, or by its running executor
    std::vector<std::uint64_t> called{};   ///< if none is named: the requests whose code it was in
    bool from_outside = false;
  };
  /// It is gone, and nothing of it goes on.
  void worker_is_lost(const sign& why, time now);
  /// It was killed, and its queues may go on for a while; then it is reaped.
  /// \returns true where they cannot
  bool worker_is_killed(const sign& why, time now);
  void worker_is_reaped(time now);

  // The next one.
  void worker_starts(time now);
  void next_is_ready() { next_ = next::ready; }
  void next_fails(errc code, time now);
  void is_activated(time now);

  /// Everything that had to be done by now, is.
  void turn_is_over(time now, time next_turn);
  [[nodiscard]] bool all_answered() const;
  [[nodiscard]] std::uint64_t run_again() const noexcept { return run_again_; }
  [[nodiscard]] int silent_losses() const noexcept { return silent_losses_; }
  [[nodiscard]] bool stopped() const noexcept { return stopped_.has_value(); }
  /// How often each of these was the end of a request.
  [[nodiscard]] const std::map<errc, int>& ends() const noexcept { return ends_; }

 private:
  struct asked {
    use_plan what;
    time_limits within;
    std::optional<std::uint64_t> ticket;
    bool cancelled = false;
    bool begun = false;                 // by the worker in service, or in its queue
    std::optional<time> seen{};         // to run, at the end of a turn, and since then
    bool in_the_way = false;            // over, but a queue has not come past it yet
    bool kept = false;                  // it is in the way of a killed worker's queue
    bool reaped = false;                // in this turn, the killed worker that had it
    bool withdrawn = false;             // its end was known before this worker could come to it
    bool held = false;                  // a killed worker had it, and may still do it
    std::optional<errc> done{};         // what the worker says
    std::optional<errc> answer{};       // what the caller got
    std::uint64_t answered_before = 0;  // the first ticket since then
    std::optional<errc> due{};          // what the caller must get
    bool over = false;                  // nothing is left to do about it
    bool passed_by = false;             // answered, and no worker was given it
    bool noted_well = false;            // that it has ended well, at a loss
    bool accused = false;               // as the culprit
    bool interrupted = false;           // it has run in part, and is to run again
    int kills = 0;
    time suspected_at{};  // when the last worker that `kills` counts was lost
    int outside_kills = 0;
    time first_killed_at{};
    bool alone = false;
    std::optional<std::vector<std::int64_t>>
        identity{};  // its number, and the content that it reads
    bool on_trial = false;
  };

  void fail(int id, const std::string& what);
  [[nodiscard]] asked* by_ticket(std::uint64_t ticket);
  [[nodiscard]] static bool safe_to_repeat(const use_plan& p);
  [[nodiscard]] static bool conflict(const use_plan& a, const use_plan& b);
  [[nodiscard]] bool reads_undefined(const asked& r, bool unless_overwritten,
                                     bool or_missed = true) const;
  [[nodiscard]] bool to_be_overwritten(std::int32_t buffer, std::int32_t cell, std::uint64_t after,
                                       std::uint64_t before) const;
  void taint(const asked& r);
  void miss(asked& r);
  void note_late(asked& r, errc code);
  [[nodiscard]] std::uint64_t next_ticket() const {
    return ids_.empty() ? 0 : ids_.rbegin()->first + 1;
  }
  void define(const asked& r);
  struct guilt {
    std::optional<std::uint64_t> named;
    std::vector<std::uint64_t> called{};
    bool from_outside = false;
    bool doubtful = false;
    bool by_run_limit = false;
    time at;
  };
  [[nodiscard]] std::optional<guilt> guilt_of(const sign& why, time now) const;
  [[nodiscard]] std::optional<guilt> worker_ends(const sign& why, time now);
  void settle(const guilt& whose);
  [[nodiscard]] static bool is_explained(const guilt& whose) {
    return whose.named || whose.from_outside || whose.by_run_limit;
  }
  [[nodiscard]] bool is_first(std::uint64_t ticket, bool asked::* among) const;
  [[nodiscard]] bool runs(std::uint64_t ticket) const;
  void check_limits(int id, asked& r, time now, time next_turn, bool lost);
  void accuse(asked& r, const guilt& whose);
  void recognise(asked& r) const;
  void note_writes(const asked& r);
  void begin_to_count();
  [[nodiscard]] bool refused(const asked& r, time now) const;
  /// \returns true where somebody is named
  bool judge(const std::vector<std::uint64_t>& left, bool asked::* had, const guilt& whose);
  [[nodiscard]] int budget() const;
  [[nodiscard]] int spent(time now) const;
  [[nodiscard]] bool is_spent(time at) const;
  [[nodiscard]] bool note_well();
  [[nodiscard]] bool admit_restart(time at, bool costs, bool served);
  void refund(time at);

  limits limits_;
  bool queues_;
  std::string wrong_;
  std::map<int, asked> all_;
  std::map<std::uint64_t, int> ids_;  // by ticket: the order
  // The requests that have left a cell undefined, which was not overwritten since, and the ticket
  // until which that holds.
  static constexpr std::uint64_t forever = ~std::uint64_t{0};
  std::array<std::array<std::map<std::uint64_t, std::uint64_t>, cells>, buffers> undefined_;
  std::set<std::uint64_t> missed_;  // those of them that have written nothing
  struct suspect {
    int faults = 0;
    time until;
    std::chrono::nanoseconds term;
    bool on_trial = false;
  };
  std::map<std::vector<std::int64_t>, suspect> quarantine_;
  bool counts_ = false;  // the content of buffers: from the first that was named for a loss
  std::array<std::int64_t, buffers> content_{};
  time now_;
  std::optional<errc> stopped_;
  bool active_ = false;
  bool ever_active_ = false;
  time active_since_;
  enum class next { none, starting, ready } next_ = next::none;
  bool just_failed_ = false;
  bool just_lost_ = false;
  std::optional<guilt> draining_;
  bool draining_costs_ = false;
  struct loss {
    time at;
    bool costs;
    bool calmed = false;
  };
  std::vector<loss> losses_;
  bool next_alone_ = false;  // the next request's
  time activate_after_;
  std::uint64_t run_again_ = 0;
  int silent_losses_ = 0;
  std::map<errc, int> ends_;
};

}  // namespace troupe::model
