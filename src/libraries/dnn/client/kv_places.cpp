// The places of a step's tokens: tables that requests read, and arrays of the program.
#include "libraries/dnn/client/kv_pages.hpp"

#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::dnn::detail {

// Tables and lengths travel together, from memory that the program writes at once.
void kv_pages::send_tables(open_step& step) {
  if (!step.table.null() || step.failed) return;
  std::size_t most = 0;
  for (const stepping_sequence& one : step.sequences)
    most = std::max(most, one.pages.size());
  const auto batch = static_cast<std::int64_t>(step.sequences.size());
  const auto width = static_cast<std::int64_t>(most);
  auto here = device_.host_tensor<std::int32_t>({batch * (width + 2)});
  auto there = device_.tensor<std::int32_t>({batch * (width + 2)});
  if (!here || !there) {
    step.failed = std::move(!here ? here.error() : there.error());
    return;
  }
  std::int32_t* at = here->data();
  for (const stepping_sequence& one : step.sequences) {
    at = std::copy(one.pages.begin(), one.pages.end(), at);
    at = std::fill_n(at, most - one.pages.size(), 0);
  }
  for (const stepping_sequence& one : step.sequences)
    *at++ = static_cast<std::int32_t>(one.tokens);
  for (const stepping_sequence& one : step.sequences)
    *at++ = static_cast<std::int32_t>(one.length + one.tokens);
  step.tables_sent = device_.ask(memory::copy{.from = *here, .to = *there});
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return there->slice(0, first, first + count).value();
  };
  step.table = part(0, batch * width).reshape({batch, width}).value();
  step.lengths_q = part(batch * width, batch);
  step.lengths_kv = part(batch * (width + 1), batch);
}

any_tensor kv_pages::offsets(open_step& step, std::int64_t stride) {
  if (const auto known = step.offsets.find(stride); known != step.offsets.end())
    return known->second;
  const auto count = static_cast<std::int64_t>(step.sequences.size()) + 1;
  auto here = device_.host_tensor<std::int64_t>({count});
  auto there = device_.tensor<std::int64_t>({count});
  if (!here || !there) {
    step.failed = std::move(!here ? here.error() : there.error());
    return {};
  }
  std::int64_t* at = here->data();
  for (const stepping_sequence& one : step.sequences)
    *at++ = one.first * stride;
  *at = step.tokens() * stride;
  // Requests that read them wait for the copy, and hear of its failure.
  (void)device_.ask(memory::copy{.from = *here, .to = *there});
  return step.offsets.emplace(stride, *std::move(there)).first->second;
}

result<void> kv_pages::write(open_step& step, const kv_places& to) {
  const auto refuse = [](std::string why) -> result<void> {
    return error{.code = errc::invalid_argument, .message = "kv_cache: " + std::move(why)};
  };
  if (!step.packed) return refuse("a program writes the rows of packed steps alone");
  if (std::ranges::find(step.appended, true) != step.appended.end() && !step.by_program) {
    return refuse("the step has an append already");
  }
  const std::size_t batch = step.sequences.size();
  std::size_t most = 0;
  for (const stepping_sequence& one : step.sequences)
    most = std::max(most, one.pages.size());
  const std::size_t width = to.pages.size() / batch;
  if (to.rows.size() != static_cast<std::size_t>(step.tokens()) || to.lengths.size() != batch ||
      to.pages.size() % batch != 0 || width < most) {
    return refuse(fmt::format(
        "the places of {} tokens of {} sequences are so many rows and lengths, and at least {} "
        "pages for each; there is room for {}, {} and {} pages in all",
        step.tokens(), batch, most, to.rows.size(), to.lengths.size(), to.pages.size()));
  }
  std::ranges::fill(to.pages, 0);
  std::size_t row = 0;
  for (std::size_t i = 0; i < batch; ++i) {
    const stepping_sequence& one = step.sequences[i];
    std::ranges::copy(one.pages, to.pages.begin() + static_cast<std::ptrdiff_t>(i * width));
    to.lengths[i] = static_cast<std::int32_t>(one.length + one.tokens);
    for (std::int64_t token = one.length; token < one.length + one.tokens; ++token) {
      const auto page = static_cast<std::size_t>(token / config_.page_size);
      to.rows[row++] = static_cast<std::int32_t>(one.pages[page] * config_.page_size +
                                                 token % config_.page_size);
    }
  }
  step.by_program = true;
  step.appended.assign(step.appended.size(), true);
  return {};
}

void kv_pages::define_rows_of(const open_step& step) {
  std::vector<any_tensor> rows;
  for (const stepping_sequence& one : step.sequences) {
    for (std::int64_t token = one.length; token < one.length + one.tokens;) {
      const std::int64_t first = token % config_.page_size;
      const auto count = std::min(config_.page_size - first, one.length + one.tokens - token);
      const std::int32_t page = one.pages[static_cast<std::size_t>(token / config_.page_size)];
      for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
        rows.push_back(rows_of(keys(layer), page, first, count));
        rows.push_back(rows_of(values(layer), page, first, count));
      }
      token += count;
    }
  }
  define(rows);
}

}  // namespace troupe::dnn::detail
