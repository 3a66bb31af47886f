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

// Tokens of a sequence: lengths are numbers of 32 bits.
constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max() / 2;

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

result<kv_sequence> kv_pages::fork(kv_sequence from) {
  settle_abandoned();
  define_the_rest();
  sequence made;
  std::int32_t last = -1;  // the page that is not full
  std::int64_t rows = 0;
  {
    const std::lock_guard lock(mutex_);
    auto found = idle(from);
    if (!found) return std::move(found).error();
    made.pages = (*found)->pages;
    made.length = (*found)->length;
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

// Steps. -----------------------------------------------------------------------------------------

result<std::unique_ptr<open_step>> kv_pages::step(std::span<const kv_sequence> sequences,
                                                  std::int64_t tokens) {
  if (sequences.empty() || tokens < 1 || tokens > longest) {
    return invalid(
        fmt::format("a step needs sequences and 1 to {} tokens for each; it has {} and {}", longest,
                    sequences.size(), tokens));
  }
  settle_abandoned();
  define_the_rest();
  auto made = std::make_unique<open_step>();
  made->tokens = tokens;
  made->appended.resize(static_cast<std::size_t>(config_.layers));
  std::size_t most = 0;
  {
    const std::lock_guard lock(mutex_);
    std::int64_t needed = 0;
    result<void> valid;
    for (const kv_sequence id : sequences) {
      auto one = idle(id);  // also if it is named twice
      if (!one) {
        valid = std::move(one).error();
        break;
      }
      if ((*one)->length > longest - tokens) {
        valid = invalid(fmt::format("a sequence has at most {} tokens; {} would have {}", longest,
                                    static_cast<std::uint64_t>(id), (*one)->length + tokens));
        break;
      }
      (*one)->busy = true;
      const auto pages = pages_for((*one)->length + tokens, config_.page_size);
      made->sequences.push_back({.id = id, .length = (*one)->length, .pages = (*one)->pages});
      made->sequences.back().added = static_cast<std::size_t>(pages) - (*one)->pages.size();
      needed += pages - static_cast<std::int64_t>((*one)->pages.size());
    }
    if (valid && needed > static_cast<std::int64_t>(free_.size())) {
      valid = error{.code = errc::out_of_memory,
                    .message = fmt::format(
                        "kv_cache: a step of {} tokens for {} sequences needs {} pages; of {} "
                        "pages {} are free",
                        tokens, sequences.size(), needed, config_.pages, free_.size())};
    }
    if (!valid) {
      for (const stepping_sequence& one : made->sequences)
        sequences_.at(static_cast<std::uint64_t>(one.id)).busy = false;
      return std::move(valid).error();
    }
    for (stepping_sequence& one : made->sequences) {
      for (std::size_t i = 0; i < one.added; ++i)
        one.pages.push_back(take_page());
      most = std::max(most, one.pages.size());
    }
  }
  // Tables and lengths travel together, from memory that the program writes at once.
  const auto batch = static_cast<std::int64_t>(sequences.size());
  const auto width = static_cast<std::int64_t>(most);
  auto here = device_.host_tensor<std::int32_t>({batch * (width + 2)});
  auto there = device_.tensor<std::int32_t>({batch * (width + 2)});
  if (!here || !there) {
    const std::lock_guard lock(mutex_);
    give_back(*made);
    return std::move(!here ? here.error() : there.error());
  }
  std::int32_t* at = here->data();
  for (const stepping_sequence& one : made->sequences) {
    at = std::copy(one.pages.begin(), one.pages.end(), at);
    at = std::fill_n(at, most - one.pages.size(), 0);
  }
  at = std::fill_n(at, batch, static_cast<std::int32_t>(tokens));
  for (const stepping_sequence& one : made->sequences)
    *at++ = static_cast<std::int32_t>(one.length + tokens);
  made->tables_sent = device_.ask(memory::copy{.from = *here, .to = *there});
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return there->slice(0, first, first + count).value();
  };
  made->table = part(0, batch * width).reshape({batch, width}).value();
  made->lengths_q = part(batch * width, batch);
  made->lengths_kv = part(batch * (width + 1), batch);
  return made;
}

void kv_pages::abandon(std::unique_ptr<open_step> step) {
  const std::lock_guard lock(mutex_);
  if (step->appends.empty()) return give_back(*step);
  abandoned_.push_back(std::move(step));
}
void kv_pages::settle_abandoned() {
  std::vector<std::shared_ptr<const open_step>> left;
  {
    const std::lock_guard lock(mutex_);
    left = abandoned_;
  }
  for (const auto& step : left) {
    for (const auto& one : step->appends)
      one.wait();
    // Another thread may have waited for the same step, and be first.
    const std::lock_guard lock(mutex_);
    if (std::erase(abandoned_, step) != 0) give_back(*step);
  }
}

void kv_pages::give_back(const open_step& step) {
  for (const stepping_sequence& one : step.sequences) {
    for (std::size_t i = one.pages.size() - one.added; i < one.pages.size(); ++i)
      give_back(one.pages[i]);
    sequences_.at(static_cast<std::uint64_t>(one.id)).busy = false;
  }
}

future<void> kv_pages::commit(std::unique_ptr<open_step> step) {
  std::vector<future<void>> sent = std::move(step->appends);
  sent.insert(sent.begin(), std::move(step->tables_sent));
  return when_all(std::move(sent))
      .then([self = shared_from_this(), step = std::move(step)](result<void> outcome) {
        return self->conclude(*step, std::move(outcome));
      });
}

result<void> kv_pages::conclude(open_step& step, result<void> outcome) {
  const auto missing = std::ranges::find(step.appended, false);
  if (outcome && missing != step.appended.end()) {
    outcome = invalid(
        fmt::format("the step has appended nothing in layer {}", missing - step.appended.begin()));
  }
  const std::lock_guard lock(mutex_);
  if (!outcome) {
    give_back(step);
    return outcome;
  }
  for (stepping_sequence& one : step.sequences) {
    sequence& grown = sequences_.at(static_cast<std::uint64_t>(one.id));
    grown.pages = std::move(one.pages);
    grown.length = one.length + step.tokens;
    grown.busy = false;
  }
  return outcome;
}

// Requests. --------------------------------------------------------------------------------------

namespace {

// Views that one request names: few enough to be encoded in one piece of the mailbox.
constexpr std::int64_t most_pieces = 64;

/// `count` runs of `rows` tokens of one sequence of k or v, one behind another.
any_tensor runs(const any_tensor& all, std::int64_t sequence, std::int64_t first,
                std::int64_t count, std::int64_t rows) {
  const any_tensor from =
      all.slice(0, sequence, sequence + 1).value().slice(1, first, first + count * rows).value();
  return from
      .as_strided({count, rows, all.extent(2), all.extent(3)},
                  {rows * all.stride(1), all.stride(1), all.stride(2), all.stride(3)})
      .value();
}

}  // namespace

std::vector<kv_append> kv_pages::appends_of(const open_step& step, std::int64_t layer,
                                            const any_tensor& k, const any_tensor& v) const {
  std::vector<kv_append> all;
  const std::int64_t size = config_.page_size;
  const auto add_rows = [&](kv_append& to, const stepping_sequence& one, std::int64_t token,
                            std::int64_t count) {
    const std::int32_t page = one.pages[static_cast<std::size_t>(token / size)];
    to.rows_k.push_back(rows_of(keys(layer), page, token % size, count));
    to.rows_v.push_back(rows_of(values(layer), page, token % size, count));
  };
  const auto batch = static_cast<std::int64_t>(step.sequences.size());
  if (step.tokens == 1) {
    for (std::int64_t first = 0; first < batch; first += most_pieces) {
      const std::int64_t last = std::min(first + most_pieces, batch);
      kv_append one{.k = k.slice(0, first, last).value(), .v = v.slice(0, first, last).value()};
      for (std::int64_t n = first; n < last; ++n) {
        const stepping_sequence& of = step.sequences[static_cast<std::size_t>(n)];
        add_rows(one, of, of.length, 1);
      }
      all.push_back(std::move(one));
    }
    return all;
  }
  for (std::int64_t n = 0; n < batch; ++n) {
    const stepping_sequence& of = step.sequences[static_cast<std::size_t>(n)];
    for (std::int64_t done = 0; done < step.tokens;) {
      const std::int64_t token = of.length + done;
      // The rest of a page, full pages, the beginning of the last one.
      const std::int64_t left = step.tokens - done;
      const std::int64_t rows = std::min(size - token % size, left);
      const std::int64_t pieces = rows < size ? 1 : std::min(left / size, most_pieces);
      kv_append one{.k = runs(k, n, done, pieces, rows), .v = runs(v, n, done, pieces, rows)};
      for (std::int64_t i = 0; i < pieces; ++i)
        add_rows(one, of, token + i * rows, rows);
      all.push_back(std::move(one));
      done += pieces * rows;
    }
  }
  return all;
}

future<void> kv_pages::send(const kv_append& one) {
  std::vector<any_tensor> rows = one.rows_k;
  rows.insert(rows.end(), one.rows_v.begin(), one.rows_v.end());
  return device_.ask(one).then(
      [self = shared_from_this(), rows = std::move(rows)](result<void> outcome) {
        if (!outcome) self->define(rows);
        return outcome;
      });
}

future<void> kv_pages::append(open_step& step, std::int64_t layer, const any_tensor& k,
                              const any_tensor& v) {
  const auto refuse = [](error why) {
    promise<void> refused;
    auto answer = refused.get_future();
    refused.set_error(std::move(why));
    return answer;
  };
  if (layer < 0 || layer >= config_.layers || step.appended[static_cast<std::size_t>(layer)]) {
    return refuse(invalid(
        fmt::format("layer must be one from 0 to {} that the step has not appended; it is {}",
                    config_.layers - 1, layer)));
  }
  const auto batch = static_cast<std::int64_t>(step.sequences.size());
  for (const auto& [name, t, width] :
       {std::tuple{"k", &k, config_.key_size}, std::tuple{"v", &v, config_.value_size}}) {
    const std::int64_t wanted[] = {batch, step.tokens, config_.heads, width};
    if (!std::ranges::equal(t->extents(), wanted) || t->type() != config_.type) {
      return refuse(
          error{.code = t->type() != config_.type ? errc::type_mismatch : errc::shape_mismatch,
                .message = fmt::format("kv_cache: {} must be <{}>[{}, {}, {}, {}]; it is {}", name,
                                       to_string(config_.type), batch, step.tokens, config_.heads,
                                       width, t->to_string())});
    }
  }
  std::vector<future<void>> sent;
  for (const kv_append& one : appends_of(step, layer, k, v))
    sent.push_back(send(one));
  step.appended[static_cast<std::size_t>(layer)] = true;
  // Both the caller and `commit` hear of it.
  promise<void> for_commit;
  step.appends.push_back(for_commit.get_future());
  return when_all(std::move(sent))
      .then([for_commit = std::move(for_commit)](result<void> outcome) mutable -> result<void> {
        if (outcome)
          for_commit.set_value();
        else
          for_commit.set_error(outcome.error());
        return outcome;
      });
}

void kv_pages::define(const std::vector<any_tensor>& rows) {
  for (const any_tensor& one : rows) {
    auto filled = device_.ask(memory::fill{.to = one, .value = 0});
    (void)std::move(filled).then([self = shared_from_this(), one](const result<void>& outcome) {
      if (outcome) return;
      const std::lock_guard lock(self->mutex_);
      self->undefined_.push_back(one);
    });
  }
}
void kv_pages::define_the_rest() {
  std::vector<any_tensor> rows;
  {
    const std::lock_guard lock(mutex_);
    rows.swap(undefined_);
  }
  if (!rows.empty()) define(rows);
}

}  // namespace troupe::dnn::detail
