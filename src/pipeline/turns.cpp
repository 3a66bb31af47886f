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

  /// Those whose turn it is. They are answered without the mutex: an answer runs the item.
  [[nodiscard]] std::vector<promise<void>> admit() {
    std::vector<promise<void>> admitted;
    for (auto first = waiting.begin(); first != waiting.end() && first->first == next;
         first = waiting.erase(first), ++next) {
      if (!first->second) continue;
      if (room == 0) break;
      --room;
      admitted.push_back(*std::move(first->second));
    }
    return admitted;
  }
};

pipeline_turns::pipeline_turns(int at_once) : state_(std::make_unique<state>(at_once)) {}
pipeline_turns::pipeline_turns(pipeline_turns&&) noexcept = default;
pipeline_turns::~pipeline_turns() = default;

future<void> pipeline_turns::enter(std::uint64_t number) {
  promise<void> turn;
  future<void> comes = turn.get_future();
  std::vector<promise<void>> admitted;
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.emplace(number, std::move(turn));
    admitted = state_->admit();
  }
  for (auto& one : admitted)
    one.set_value();
  return comes;
}

void pipeline_turns::leave() {
  std::vector<promise<void>> admitted;
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->room;
    admitted = state_->admit();
  }
  for (auto& one : admitted)
    one.set_value();
}

void pipeline_turns::skip(std::uint64_t number) {
  std::vector<promise<void>> admitted;
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.emplace(number, std::nullopt);
    admitted = state_->admit();
  }
  for (auto& one : admitted)
    one.set_value();
}

}  // namespace troupe::detail
