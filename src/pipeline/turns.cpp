#include <troupe/pipeline/turns.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe::detail {

struct pipeline_turns::state {
  explicit state(int at_once) : room(at_once) {}

  // Guarded by `mutex`. A promise that is empty is an item that is skipped.
  std::mutex mutex;
  std::uint64_t next = 0;
  int room;
  std::map<std::uint64_t, std::optional<promise<void>>> waiting;

  /// Makes a change, and lets those in whose turn it is then. They are answered without the mutex:
  /// an answer runs the item.
  template <class Change>
  void apply(Change change) {
    std::vector<promise<void>> admitted;
    {
      const std::lock_guard lock(mutex);
      change();
      for (auto first = waiting.begin(); first != waiting.end() && first->first == next;
           first = waiting.erase(first), ++next) {
        if (!first->second) continue;
        if (room == 0) break;
        --room;
        admitted.push_back(*std::move(first->second));
      }
    }
    for (auto& one : admitted)
      one.set_value();
  }
};

pipeline_turns::pipeline_turns(int at_once) : state_(std::make_unique<state>(at_once)) {}
pipeline_turns::pipeline_turns(pipeline_turns&&) noexcept = default;
pipeline_turns::~pipeline_turns() = default;

future<void> pipeline_turns::enter(std::uint64_t number) {
  promise<void> turn;
  future<void> comes = turn.get_future();
  state_->apply([&] { state_->waiting.emplace(number, std::move(turn)); });
  return comes;
}
void pipeline_turns::leave() {
  state_->apply([&] { ++state_->room; });
}
void pipeline_turns::skip(std::uint64_t number) {
  state_->apply([&] { state_->waiting.emplace(number, std::nullopt); });
}

}  // namespace troupe::detail
