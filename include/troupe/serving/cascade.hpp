#pragma once

#include <troupe/serving/replicas.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::serving {

/// The answer of a cascade.
template <class Out>
struct staged {
  Out answer;
  std::size_t stage = 0;  ///< which one has given it, from 0
  bool accepted = false;  ///< false: there was no time, or no room, for the next stage
};

/// Decides about an item that fails in a stage by itself.
enum class on_fault : std::uint8_t {
  fail,
  next,  ///< tries the next stage
};

namespace detail {

/// True for an error that says that there is no time, or no room, for an item.
[[nodiscard]] TROUPE_EXPORT bool has_no_room(errc code) noexcept;

template <class In, class Out>
class cascading final : public actor {
 public:
  static constexpr bool reentrant = true;
  struct asked {
    In item;
    item_terms terms;
  };

  cascading(std::vector<model<In, Out>> stages, std::function<bool(const Out&)> accept,
            on_fault fault)
      : stages_(std::move(stages)), accept_(std::move(accept)), fault_(fault) {}

  task<result<staged<Out>>> handle(asked m) {
    m.terms.deadline = std::min(m.terms.deadline, current_deadline());
    std::optional<staged<Out>> best;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      auto answer = co_await as_result(stages_[i](m.item, m.terms));
      if (!answer) {
        const errc code = answer.error().code;
        const bool ends = has_no_room(code) || i + 1 == stages_.size();
        if (!has_no_room(code) && fault_ == on_fault::fail) co_return std::move(answer).error();
        if (!ends) continue;
        if (!best) co_return std::move(answer).error();
        break;
      }
      const bool accepted = accept_(*answer);
      best = staged<Out>{*std::move(answer), i, accepted};
      if (accepted) break;
    }
    co_return *std::move(best);
  }

 private:
  std::vector<model<In, Out>> stages_;
  std::function<bool(const Out&)> accept_;
  on_fault fault_;
};

}  // namespace detail

/// Asks one stage after the other until an answer is accepted: a small model first, larger ones for
/// what it is not sure of. Each item has one deadline for all stages; without time or room for the
/// next stage, the last answer is given. Copies are the same. Thread-safe.
template <class In, class Out>
class cascade {
  using cascading = detail::cascading<In, Out>;

 public:
  /// Throws `failure` (`invalid_argument`) if there is no stage.
  cascade(system& in, std::vector<model<In, Out>> stages, std::function<bool(const Out&)> accept,
          on_fault fault = on_fault::fail) {
    if (stages.empty()) throw failure(detail::nothing_given("cascade", "stage"));
    actor_ = in.spawn<cascading>(std::move(stages), std::move(accept), fault);
  }

  /// \errors those of a stage that fails, unless an earlier one has answered and there was no room
  future<staged<Out>> ask(In item, const item_terms& terms = {}) const {
    return detail::flat(actor_.ask(typename cascading::asked{std::move(item), terms}));
  }

 private:
  actor_ref<cascading> actor_;
};

}  // namespace troupe::serving
