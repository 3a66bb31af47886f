#pragma once

#include <troupe/device/device.hpp>
#include <troupe/dnn.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// A cache whose content is known: its rows follow from names, layers and places.
namespace troupe::kv_testing {

using dnn::kv_cache;
using dnn::kv_growth;
using dnn::kv_sequence;

using number = f16;  // which GPUs compute attention in, too

inline constexpr std::int64_t heads = 2;
inline constexpr std::int64_t size = 16;
inline constexpr std::int64_t page_size = 4;

/// Row `token` of what a sequence with that name is given in a layer.
inline std::vector<number> row(int name, std::int64_t layer, std::int64_t token, bool key) {
  std::vector<number> values(static_cast<std::size_t>(heads * size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto mixed =
        (static_cast<std::uint64_t>(name) * 31 + static_cast<std::uint64_t>(layer)) * 7919 +
        static_cast<std::uint64_t>(token) * 104729 + i * 2654435761U + (key ? 1 : 5);
    values[i] = number(static_cast<float>(mixed % 2001) / 1000 - 1);
  }
  return values;
}

class KvCacheTest : public testing::Test {
 protected:
  kv_cache cache(std::int64_t pages, std::int64_t layers = 2) {
    return kv_cache::make(device_, {.layers = layers,
                                    .heads = heads,
                                    .key_size = size,
                                    .page_size = page_size,
                                    .pages = pages,
                                    .type = dtype_of<number>})
        .value();
  }

  /// Rows of new tokens of these sequences, [b, n, heads, size].
  tensor<number> rows(std::span<const int> names, std::int64_t layer, std::int64_t first,
                      std::int64_t n, bool key, placement where = placement::shared) {
    std::vector<number> all;
    for (const int name : names) {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto one = row(name, layer, first + i, key);
        all.insert(all.end(), one.begin(), one.end());
      }
    }
    auto t = device_
                 .tensor<number>({static_cast<std::int64_t>(names.size()), n, heads, size},
                                 initial::undefined, where)
                 .value();
    device_.copy(std::span(std::as_const(all)), t).get();
    return t;
  }

  /// One step in which every layer gets the rows that `row` says; `names` are those of `of`.
  result<void> grow(kv_cache& c, const std::vector<kv_sequence>& of, const std::vector<int>& names,
                    std::int64_t first, std::int64_t n) {
    auto step = c.step(of, n);
    if (!step) return std::move(step).error();
    for (std::int64_t layer = 0; layer < c.config().layers; ++layer)
      (void)step->append(layer, rows(names, layer, first, n, true),
                         rows(names, layer, first, n, false));
    return step->commit();
  }

  /// Rows of new tokens of several sequences, packed: each has a name, its length and their number.
  struct part {
    int name;
    std::int64_t first;
    std::int64_t n;
  };
  tensor<number> packed(const std::vector<part>& parts, std::int64_t layer, bool key) {
    std::vector<number> all;
    for (const part& one : parts) {
      for (std::int64_t i = 0; i < one.n; ++i) {
        const auto token = row(one.name, layer, one.first + i, key);
        all.insert(all.end(), token.begin(), token.end());
      }
    }
    const auto tokens = static_cast<std::int64_t>(all.size()) / (heads * size);
    auto t = device_.tensor<number>({tokens, heads, size}).value();
    device_.copy(std::span(std::as_const(all)), t).get();
    return t;
  }
  dnn::kv_step packed_step(kv_cache& c, const std::vector<kv_sequence>& of,
                           const std::vector<part>& parts) {
    std::vector<kv_growth> growths;
    for (std::size_t i = 0; i < of.size(); ++i)
      growths.push_back({.sequence = of[i], .tokens = parts[i].n});
    auto step = c.step(growths).value();
    for (std::int64_t layer = 0; layer < c.config().layers; ++layer)
      (void)step.append(layer, packed(parts, layer, true), packed(parts, layer, false));
    return step;
  }

  /// The content of a sequence in a layer, token by token.
  std::vector<number> content(const kv_cache& c, kv_sequence one, std::int64_t layer, bool key) {
    std::vector<number> all;
    const std::int64_t tokens = c.length(one).value();
    const auto pages = c.pages_of(one).value();
    const any_tensor from = key ? c.keys(layer) : c.values(layer);
    for (std::int64_t i = 0; i < tokens; ++i) {
      const std::int64_t page = pages[static_cast<std::size_t>(i / page_size)];
      std::vector<number> token(static_cast<std::size_t>(heads * size));
      const any_tensor at =
          from.slice(0, page, page + 1).value().slice(2, i % page_size, i % page_size + 1).value();
      device_.copy(at, std::span(token)).get();
      all.insert(all.end(), token.begin(), token.end());
    }
    return all;
  }
  void expect_content(const kv_cache& c, kv_sequence one, const std::vector<int>& name_of_token) {
    ASSERT_EQ(c.length(one).value(), static_cast<std::int64_t>(name_of_token.size()));
    for (std::int64_t layer = 0; layer < c.config().layers; ++layer) {
      for (const bool key : {true, false}) {
        std::vector<number> expected;
        for (std::size_t i = 0; i < name_of_token.size(); ++i) {
          const auto token = row(name_of_token[i], layer, static_cast<std::int64_t>(i), key);
          expected.insert(expected.end(), token.begin(), token.end());
        }
        EXPECT_EQ(content(c, one, layer, key), expected) << "layer " << layer;
      }
    }
  }

  system system_;
  device device_ = system_.device(
      0, {.restarts = {.restarts = 1000}, .backoff = {.initial = {}}, .fault_injection = true});
};

}  // namespace troupe::kv_testing
