#include "libraries/dnn/client/kv_pages.hpp"

#include <troupe/core/future_combine.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace troupe::dnn::detail {
namespace {

error invalid(std::string message) {
  return {.code = errc::invalid_argument, .message = "kv_cache: " + std::move(message)};
}

std::int64_t pages_for(std::int64_t tokens, std::int64_t page_size) noexcept {
  return (tokens + page_size - 1) / page_size;
}

}  // namespace

result<std::shared_ptr<kv_pages>> kv_pages::make(const device& on, const kv_cache_config& given) {
  kv_cache_config config = given;
  if (config.value_size == 0) config.value_size = config.key_size;
  for (const auto& [name, value] :
       {std::pair{"layers", config.layers}, std::pair{"heads", config.heads},
        std::pair{"key_size", config.key_size}, std::pair{"value_size", config.value_size},
        std::pair{"page_size", config.page_size}, std::pair{"pages", config.pages}}) {
    if (value < 1 || value > std::numeric_limits<std::int32_t>::max()) {
      return invalid(fmt::format("{} must be from 1 to 2^31 − 1; it is {}", name, value));
    }
  }
  std::shared_ptr<kv_pages> made(new kv_pages(on, config));
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    for (const bool is_key : {true, false}) {
      auto pages = made->device_.allocate(config.type,
                                          {config.pages, config.page_size, config.heads,
                                           is_key ? config.key_size : config.value_size},
                                          initial::zero);
      if (!pages) return std::move(pages).error();
      (is_key ? made->keys_ : made->values_).push_back(pages->permute({0, 2, 1, 3}).value());
    }
  }
  for (std::int64_t page = config.pages; page-- > 0;)
    made->free_.push_back(static_cast<std::int32_t>(page));
  made->owners_.resize(static_cast<std::size_t>(config.pages));
  return made;
}

// Who has which page. ----------------------------------------------------------------------------

result<const kv_pages::sequence*> kv_pages::find(kv_sequence one) const {
  const auto found = sequences_.find(static_cast<std::uint64_t>(one));
  if (found == sequences_.end()) {
    return invalid(fmt::format("there is no sequence {}", static_cast<std::uint64_t>(one)));
  }
  return &found->second;
}
result<kv_pages::sequence*> kv_pages::idle(kv_sequence one) {
  if (auto found = find(one); !found) return std::move(found).error();
  sequence& of = sequences_.at(static_cast<std::uint64_t>(one));
  if (of.busy) {
    return invalid(fmt::format("sequence {} is in a step that is not over, or is being forked",
                               static_cast<std::uint64_t>(one)));
  }
  return &of;
}

std::int32_t kv_pages::take_page() {
  const std::int32_t page = free_.back();
  free_.pop_back();
  owners_[static_cast<std::size_t>(page)] = 1;
  return page;
}
void kv_pages::give_back(std::int32_t page) {
  if (--owners_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
}

kv_sequence kv_pages::begin() {
  const std::lock_guard lock(mutex_);
  sequences_.try_emplace(next_);
  return kv_sequence{next_++};
}

result<void> kv_pages::end(kv_sequence one) {
  settle_abandoned();
  const std::lock_guard lock(mutex_);
  auto ended = idle(one);
  if (!ended) return std::move(ended).error();
  for (const std::int32_t page : (*ended)->pages)
    give_back(page);
  sequences_.erase(static_cast<std::uint64_t>(one));
  return {};
}

result<std::int64_t> kv_pages::length(kv_sequence one) const {
  const std::lock_guard lock(mutex_);
  auto found = find(one);
  if (!found) return std::move(found).error();
  return (*found)->length;
}
result<std::vector<std::int32_t>> kv_pages::pages_of(kv_sequence one) const {
  const std::lock_guard lock(mutex_);
  auto found = find(one);
  if (!found) return std::move(found).error();
  return (*found)->pages;
}
std::int64_t kv_pages::free_pages() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(free_.size());
}

any_tensor kv_pages::rows_of(const any_tensor& layer, std::int32_t page, std::int64_t first,
                             std::int64_t count) {
  const any_tensor rows = layer.slice(0, page, page + 1)
                              .value()
                              .slice(2, first, first + count)
                              .value()
                              .permute({0, 2, 1, 3})
                              .value();
  return rows.as_strided({count, rows.extent(2), rows.extent(3)}, rows.strides().subspan(1))
      .value();
}

result<kv_sequence> kv_pages::fork(kv_sequence from, std::optional<std::int64_t> tokens) {
  settle_abandoned();
  define_the_rest();
  sequence made;
  std::int32_t last = -1;  // the page that is not full
  std::int64_t rows = 0;
  {
    const std::lock_guard lock(mutex_);
    auto found = idle(from);
    if (!found) return std::move(found).error();
    made.length = tokens.value_or((*found)->length);
    if (made.length < 0 || made.length > (*found)->length) {
      return invalid(fmt::format("a fork of sequence {} has 0 to {} tokens; it would have {}",
                                 static_cast<std::uint64_t>(from), (*found)->length, made.length));
    }
    const auto kept = pages_for(made.length, config_.page_size);
    made.pages.assign((*found)->pages.begin(), (*found)->pages.begin() + kept);
    rows = made.length % config_.page_size;
    if (rows != 0) {
      if (free_.empty()) {
        return error{.code = errc::out_of_memory,
                     .message = fmt::format(
                         "kv_cache: a fork of sequence {} needs 1 page for its last {} tokens; of "
                         "{} pages none is free",
                         static_cast<std::uint64_t>(from), rows, config_.pages)};
      }
      last = made.pages.back();
      made.pages.back() = take_page();
    }
    for (const std::int32_t page : made.pages) {
      if (page != made.pages.back() || rows == 0) ++owners_[static_cast<std::size_t>(page)];
    }
    (*found)->busy = true;
  }
  result<void> copied;
  if (rows != 0) {
    std::vector<future<void>> copies;
    std::vector<any_tensor> written;
    for (const auto* all : {&keys_, &values_}) {
      for (const any_tensor& layer : *all) {
        written.push_back(rows_of(layer, made.pages.back(), 0, rows));
        copies.push_back(
            device_.ask(memory::copy{.from = rows_of(layer, last, 0, rows), .to = written.back()}));
      }
    }
    for (auto& one : copies) {
      if (auto outcome = one.get_result(); !outcome && copied) copied = std::move(outcome);
    }
    if (!copied) define(written);
  }
  const std::lock_guard lock(mutex_);
  sequences_.at(static_cast<std::uint64_t>(from)).busy = false;
  if (!copied) {
    for (const std::int32_t page : made.pages)
      give_back(page);
    return std::move(copied).error();
  }
  sequences_.emplace(next_, std::move(made));
  return kv_sequence{next_++};
}

}  // namespace troupe::dnn::detail
