#include "libraries/dnn/client/kv_pages.hpp"

#include <utility>

namespace troupe::dnn {
namespace {

error is_over() {
  return {.code = errc::invalid_argument, .message = "kv_cache: the step is over"};
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

attention_forward kv_step::attend(std::int64_t layer, const any_tensor& q,
                                  const any_tensor& o) const {
  attention_forward made{.q = q, .o = o, .mask = {.diagonal = diagonal::bottom_right, .right = 0}};
  if (step_ == nullptr || layer < 0 || layer >= pages_->config().layers) return made;
  made.k = pages_->keys(layer);
  made.v = pages_->values(layer);
  made.mask.lengths_q = step_->lengths_q;
  made.mask.lengths_kv = step_->lengths_kv;
  made.all_attend = true;  // each to itself at least, and all sequences have as many
  made.pages.k = made.pages.v = step_->table;
  return made;
}

result<void> kv_step::commit() { return commit_async().get_result(); }

future<void> kv_step::commit_async() {
  if (step_ == nullptr) return make_failed_future<void>(is_over());
  return pages_->commit(std::exchange(step_, nullptr));
}

kv_cache::kv_cache(std::shared_ptr<detail::kv_pages> pages) noexcept : pages_(std::move(pages)) {}

result<kv_cache> kv_cache::make(const device& on, const kv_cache_config& config) {
  auto pages = detail::kv_pages::make(on, config);
  if (!pages) return std::move(pages).error();
  return kv_cache(*std::move(pages));
}
kv_sequence kv_cache::begin() { return pages_->begin(); }
result<kv_sequence> kv_cache::fork(kv_sequence from) { return pages_->fork(from); }
result<void> kv_cache::end(kv_sequence one) { return pages_->end(one); }
result<kv_step> kv_cache::step(std::span<const kv_sequence> sequences, std::int64_t tokens) {
  auto begun = pages_->step(sequences, tokens);
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
