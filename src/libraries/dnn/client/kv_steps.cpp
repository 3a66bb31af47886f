// Steps of a cache: their pages, tables and requests.
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

error invalid_step(std::string message) {
  return {.code = errc::invalid_argument, .message = "kv_cache: " + std::move(message)};
}

// Tokens of a sequence: lengths are numbers of 32 bits.
constexpr std::int64_t most_tokens = std::numeric_limits<std::int32_t>::max() / 2;

// Views that one request names: few enough to be encoded in one piece of the mailbox.
constexpr std::int64_t most_pieces = 64;

}  // namespace

result<std::unique_ptr<open_step>> kv_pages::step(std::span<const kv_growth> growths, bool packed) {
  std::int64_t tokens = 0;
  for (const kv_growth& one : growths) {
    if (one.tokens < 1 || one.tokens > most_tokens) {
      return invalid_step(fmt::format("a sequence takes 1 to {} tokens in a step; {} would take {}",
                                      most_tokens, static_cast<std::uint64_t>(one.sequence),
                                      one.tokens));
    }
    tokens += one.tokens;
  }
  if (growths.empty() || tokens > most_tokens) {
    return invalid_step(
        fmt::format("a step needs sequences, and has at most {} tokens; it has {} "
                    "and {}",
                    most_tokens, growths.size(), tokens));
  }
  settle_abandoned();
  define_the_rest();
  auto made = std::make_unique<open_step>();
  made->packed = packed;
  made->appended.resize(static_cast<std::size_t>(config_.layers));
  if (auto entered = enter(*made, growths); !entered) return std::move(entered).error();
  return made;
}

result<void> kv_pages::enter(open_step& step, std::span<const kv_growth> growths) {
  const std::lock_guard lock(mutex_);
  std::int64_t needed = 0;
  std::int64_t first = 0;
  result<void> valid;
  for (const kv_growth& growth : growths) {
    auto one = idle(growth.sequence);  // also if it is named twice
    if (!one) {
      valid = std::move(one).error();
      break;
    }
    const std::int64_t length = (*one)->length;
    if (length > most_tokens - growth.tokens) {
      valid = invalid_step(fmt::format("a sequence has at most {} tokens; {} would have {}",
                                       most_tokens, static_cast<std::uint64_t>(growth.sequence),
                                       length + growth.tokens));
      break;
    }
    (*one)->busy = true;
    const auto pages = (length + growth.tokens + config_.page_size - 1) / config_.page_size;
    step.sequences.push_back({.id = growth.sequence,
                              .length = length,
                              .tokens = growth.tokens,
                              .first = first,
                              .pages = (*one)->pages});
    step.sequences.back().added = static_cast<std::size_t>(pages) - (*one)->pages.size();
    needed += pages - static_cast<std::int64_t>((*one)->pages.size());
    first += growth.tokens;
  }
  if (valid && needed > static_cast<std::int64_t>(free_.size())) {
    valid =
        error{.code = errc::out_of_memory,
              .message = fmt::format("kv_cache: a step of {} tokens for {} sequences needs {} "
                                     "pages; of {} pages {} are free",
                                     first, growths.size(), needed, config_.pages, free_.size())};
  }
  if (!valid) {
    for (const stepping_sequence& one : step.sequences)
      sequences_.at(static_cast<std::uint64_t>(one.id)).busy = false;
    return valid;
  }
  for (stepping_sequence& one : step.sequences) {
    for (std::size_t i = 0; i < one.added; ++i)
      one.pages.push_back(take_page());
  }
  return {};
}

void kv_pages::abandon(std::unique_ptr<open_step> step) {
  if (step->by_program) define_rows_of(*step);
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
  if (step->tables_sent.valid()) sent.insert(sent.begin(), std::move(step->tables_sent));
  return when_all(std::move(sent))
      .then([self = shared_from_this(), step = std::move(step)](result<void> outcome) {
        return self->conclude(*step, std::move(outcome));
      });
}

result<void> kv_pages::conclude(open_step& step, result<void> outcome) {
  const auto missing = std::ranges::find(step.appended, false);
  if (outcome && step.failed) outcome = *step.failed;
  if (outcome && missing != step.appended.end()) {
    outcome = invalid_step(
        fmt::format("the step has appended nothing in layer {}", missing - step.appended.begin()));
  }
  if (outcome && step.kept) {
    const auto& kept = *step.kept;
    const bool fits = std::ranges::equal(kept, step.sequences, [](std::int64_t n, const auto& one) {
      return n >= 0 && n <= one.tokens;
    });
    if (!fits) {
      outcome =
          invalid_step(fmt::format("kept must have a number from 0 to its new tokens for "
                                   "each of {} sequences; it is [{}]",
                                   step.sequences.size(), fmt::join(kept, ", ")));
    }
  }
  const std::lock_guard lock(mutex_);
  if (!outcome) {
    give_back(step);
    return outcome;
  }
  for (std::size_t i = 0; i < step.sequences.size(); ++i) {
    stepping_sequence& one = step.sequences[i];
    sequence& grown = sequences_.at(static_cast<std::uint64_t>(one.id));
    grown.pages = std::move(one.pages);
    grown.length = one.length + (step.kept ? (*step.kept)[i] : one.tokens);
    grown.busy = false;
    const auto needed = (grown.length + config_.page_size - 1) / config_.page_size;
    for (; static_cast<std::int64_t>(grown.pages.size()) > needed; grown.pages.pop_back())
      give_back(grown.pages.back());
  }
  return outcome;
}

// Requests. --------------------------------------------------------------------------------------

namespace {

/// `count` runs of `rows` tokens, one behind another, of packed k or v.
any_tensor runs(const any_tensor& all, std::int64_t first, std::int64_t count, std::int64_t rows) {
  return all.slice(0, first, first + count * rows)
      .value()
      .as_strided({count, rows, all.extent(1), all.extent(2)},
                  {rows * all.stride(0), all.stride(0), all.stride(1), all.stride(2)})
      .value();
}

/// Sequence n of [b, n, heads, …] as [n, heads, …].
any_tensor one_of(const any_tensor& all, std::int64_t n) {
  const any_tensor from = all.slice(0, n, n + 1).value();
  return from
      .as_strided({all.extent(1), all.extent(2), all.extent(3)},
                  {all.stride(1), all.stride(2), all.stride(3)})
      .value();
}

}  // namespace

void kv_pages::add_appends(std::vector<kv_append>& to, std::span<const stepping_sequence> sequences,
                           std::int64_t layer, const any_tensor& k, const any_tensor& v) const {
  const std::int64_t size = config_.page_size;
  const std::int64_t origin = sequences.front().first;
  // Runs of the same number of rows follow each other in k, and are views of one request.
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t rows = 0;
  std::vector<any_tensor> rows_k;
  std::vector<any_tensor> rows_v;
  const auto flush = [&] {
    if (count == 0) return;
    to.push_back({.k = runs(k, first, count, rows),
                  .v = runs(v, first, count, rows),
                  .rows_k = std::exchange(rows_k, {}),
                  .rows_v = std::exchange(rows_v, {})});
    count = 0;
  };
  for (const stepping_sequence& one : sequences) {
    for (std::int64_t done = 0; done < one.tokens;) {
      // The rest of a page, full pages, the beginning of the last one.
      const std::int64_t token = one.length + done;
      const std::int64_t n = std::min(size - token % size, one.tokens - done);
      if (n != rows || count == most_pieces) {
        flush();
        rows = n;
      }
      if (count == 0) first = one.first - origin + done;
      const std::int32_t page = one.pages[static_cast<std::size_t>(token / size)];
      rows_k.push_back(rows_of(keys(layer), page, token % size, n));
      rows_v.push_back(rows_of(values(layer), page, token % size, n));
      ++count;
      done += n;
    }
  }
  flush();
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
  if (layer < 0 || layer >= config_.layers || step.appended[static_cast<std::size_t>(layer)]) {
    return make_failed_future<void>(invalid_step(
        fmt::format("layer must be one from 0 to {} that the step has not appended; it is {}",
                    config_.layers - 1, layer)));
  }
  const auto batch = static_cast<std::int64_t>(step.sequences.size());
  for (const auto& [name, t, width] :
       {std::tuple{"k", &k, config_.key_size}, std::tuple{"v", &v, config_.value_size}}) {
    std::vector<std::int64_t> wanted{batch, step.longest(), config_.heads, width};
    if (step.packed) wanted = {step.tokens(), config_.heads, width};
    if (!std::ranges::equal(t->extents(), wanted) || t->type() != config_.type) {
      return make_failed_future<void>(
          {.code = t->type() != config_.type ? errc::type_mismatch : errc::shape_mismatch,
           .message =
               fmt::format("kv_cache: {} must be <{}>[{}]; it is {}", name, to_string(config_.type),
                           fmt::join(wanted, ", "), t->to_string())});
    }
  }
  std::vector<kv_append> all;
  if (step.packed) {
    add_appends(all, step.sequences, layer, k, v);
  } else if (step.longest() == 1) {
    const auto packed = [](const any_tensor& t) {
      return one_of(t.permute({1, 0, 2, 3}).value(), 0);
    };
    add_appends(all, step.sequences, layer, packed(k), packed(v));
  } else {
    for (std::int64_t n = 0; n < batch; ++n) {
      add_appends(all, std::span(step.sequences).subspan(static_cast<std::size_t>(n), 1), layer,
                  one_of(k, n), one_of(v, n));
    }
  }
  std::vector<future<void>> sent;
  sent.reserve(all.size());
  for (const kv_append& one : all)
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
