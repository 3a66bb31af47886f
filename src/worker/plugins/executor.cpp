#include <troupe/plugin/executor.hpp>

#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

struct operation_table::index {
  std::vector<operation> operations;
  std::vector<operation> replaced;
  std::unordered_map<std::uint64_t, std::size_t> by_id;
};

operation_table::operation_table() : index_(std::make_unique<index>()) {}
operation_table::operation_table(operation_table&&) noexcept = default;
operation_table& operation_table::operator=(operation_table&&) noexcept = default;
operation_table::~operation_table() = default;

void operation_table::insert(operation added) {
  // A later executor of the same request replaces an earlier one: a program may improve on ours.
  const auto [place, fresh] = index_->by_id.try_emplace(added.type->id, index_->operations.size());
  if (fresh) {
    index_->operations.push_back(added);
  } else {
    index_->replaced.push_back(std::exchange(index_->operations[place->second], added));
  }
}

const operation* operation_table::find(std::uint64_t id) const noexcept {
  const auto found = index_->by_id.find(id);
  return found == index_->by_id.end() ? nullptr : &index_->operations[found->second];
}

void recordable_operations::set(std::uint64_t id, may_record* when) noexcept {
  const auto found = table_.index_->by_id.find(id);
  if (found != table_.index_->by_id.end()) {
    table_.index_->operations[found->second].may_record = when;
  }
}

std::size_t operation_table::size() const noexcept { return index_->operations.size(); }

std::span<const operation> operation_table::all() const noexcept { return index_->operations; }

std::span<const operation> operation_table::replaced() const noexcept { return index_->replaced; }

}  // namespace troupe
