#include "libraries/dnn/client/kv_pages.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace troupe::dnn {
namespace {

error is_over() {
  return {.code = errc::invalid_argument, .message = "kv_cache: the step is over"};
}

/// Elements from a token of o [t, h, size] to the next; where o is not given, of the one that a
/// request allocates in the order of q.
std::int64_t step_of_tokens(const any_tensor& q, const any_tensor& o, std::int64_t size) {
  if (!o.null()) return o.stride(0);
  return q.stride(0) >= q.stride(1) ? q.extent(1) * size : size;
}

}  // namespace

kv_step::kv_step(std::shared_ptr<detail::kv_pages> pages,
                 std::unique_ptr<detail::open_step> step) noexcept
    : pages_(std::move(pages)), step_(std::move(step)) {}
kv_step::kv_step(kv_step&&) noexcept = default;
kv_step& kv_step::operator=(kv_step&& other) noexcept {
  kv_step moved(std::move(other));
  std::swap(pages_, moved.pages_);
  std::swap(step_, moved.step_);
  return *this;
}
kv_step::~kv_step() {
  if (step_ != nullptr) pages_->abandon(std::move(step_));
}

future<void> kv_step::append(std::int64_t layer, const any_tensor& k, const any_tensor& v) {
  if (step_ == nullptr) return make_failed_future<void>(is_over());
  return pages_->append(*step_, layer, k, v);
}

result<void> kv_step::write(const kv_places& to) {
  if (step_ == nullptr) return is_over();
  return pages_->write(*step_, to);
}

attention_forward kv_step::attend(std::int64_t layer, const any_tensor& q, const any_tensor& o) {
  attention_forward made{.q = q, .o = o, .mask = {.diagonal = diagonal::bottom_right, .right = 0}};
  if (step_ == nullptr || layer < 0 || layer >= pages_->config().layers) return made;
  pages_->send_tables(*step_);
  made.k = pages_->keys(layer);
  made.v = pages_->values(layer);
  made.mask.lengths_q = step_->lengths_q;
  made.mask.lengths_kv = step_->lengths_kv;
  made.all_attend = true;  // each to itself at least, and no query is beyond its sequence's
  made.pages.k = made.pages.v = step_->table;
  if (!step_->packed) return made;
  if (q.rank() != 3 || (!o.null() && o.rank() != 3)) return made;  // refused, with the request
  made.packed.offsets_q = pages_->offsets(*step_, q.stride(0));
  made.packed.offsets_o =
      pages_->offsets(*step_, step_of_tokens(q, o, pages_->config().value_size));
  made.packed.longest_q = step_->longest();
  // Those of shorter sequences are not there.
  made.all_attend = step_->longest() == step_->shortest();
  return made;
}

result<void> kv_step::commit() { return commit_async().get_result(); }
result<void> kv_step::commit(std::span<const std::int64_t> kept) {
  return commit_async(kept).get_result();
}

future<void> kv_step::commit_async() {
  if (step_ == nullptr) return make_failed_future<void>(is_over());
  return pages_->commit(std::exchange(step_, nullptr));
}
future<void> kv_step::commit_async(std::span<const std::int64_t> kept) {
  if (step_ == nullptr) return make_failed_future<void>(is_over());
  step_->kept.emplace(kept.begin(), kept.end());
  return commit_async();
}

kv_cache::kv_cache(std::shared_ptr<detail::kv_pages> pages) noexcept : pages_(std::move(pages)) {}

result<kv_cache> kv_cache::make(const device& on, const kv_cache_config& config) {
  auto pages = detail::kv_pages::make(on, config);
  if (!pages) return std::move(pages).error();
  return kv_cache(*std::move(pages));
}
kv_sequence kv_cache::begin() { return pages_->begin(); }
result<kv_sequence> kv_cache::fork(kv_sequence from) { return pages_->fork(from, std::nullopt); }
result<kv_sequence> kv_cache::fork(kv_sequence from, std::int64_t tokens) {
  return pages_->fork(from, tokens);
}
result<void> kv_cache::end(kv_sequence one) { return pages_->end(one); }
result<kv_step> kv_cache::step(std::span<const kv_sequence> sequences, std::int64_t tokens) {
  std::vector<kv_growth> growths;
  growths.reserve(sequences.size());
  for (const kv_sequence one : sequences)
    growths.push_back({.sequence = one, .tokens = tokens});
  auto begun = pages_->step(growths, false);
  if (!begun) return std::move(begun).error();
  return kv_step(pages_, *std::move(begun));
}
result<kv_step> kv_cache::step(std::span<const kv_growth> growths) {
  auto begun = pages_->step(growths, true);
  if (!begun) return std::move(begun).error();
  return kv_step(pages_, *std::move(begun));
}
result<std::int64_t> kv_cache::length(kv_sequence one) const { return pages_->length(one); }
std::int64_t kv_cache::free_pages() const { return pages_->free_pages(); }
const kv_cache_config& kv_cache::config() const noexcept { return pages_->config(); }
any_tensor kv_cache::keys(std::int64_t layer) const { return pages_->keys(layer); }
any_tensor kv_cache::values(std::int64_t layer) const { return pages_->values(layer); }
result<std::vector<std::int32_t>> kv_cache::pages_of(kv_sequence one) const {
  return pages_->pages_of(one);
}

}  // namespace troupe::dnn
