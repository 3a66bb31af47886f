// Tokens from a small transformer with random weights. The step that makes one token is recorded
// once and sent as one request: the row of the cache that it writes is another one each time. The
// worker is killed before, in and between steps; no step fails, and the tokens are those of the
// same requests one by one.

#include <troupe/blas.hpp>
#include <troupe/dnn.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/graph.hpp>
#include <troupe/memory.hpp>
#include <troupe/troupe.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace ew = troupe::elementwise;
using troupe::any_tensor;
using troupe::blas::gemm;

constexpr std::int64_t vocabulary = 96;
constexpr std::int64_t layers = 3;
constexpr std::int64_t heads = 4;
constexpr std::int64_t size = 32;
constexpr std::int64_t width = heads * size;
constexpr std::int64_t page = 16;
constexpr std::int64_t pages = 4;
constexpr std::int64_t most_tokens = pages * page;

/// A model, the cache of one sequence, and the memory of a step.
class generator {
 public:
  explicit generator(const troupe::device& gpu) : gpu_(gpu) {
    embedding_ = weights(vocabulary, width);
    output_ = weights(width, vocabulary);
    for (std::int64_t i = 0; i < layers; ++i) {
      layers_.push_back({.qkv_weights = weights(width, 3 * width),
                         .joined = weights(width, width),
                         .up = weights(width, 2 * width),
                         .down = weights(2 * width, width),
                         .keys = made({most_tokens, width}),
                         .values = made({most_tokens, width})});
    }
    std::vector<float> cosines;
    std::vector<float> sines;
    for (std::int64_t i = 0; i < most_tokens * size / 2; ++i) {
      const std::int64_t position = i / (size / 2);
      const double rate = std::pow(1e4, -2.0 * static_cast<double>(i % (size / 2)) / size);
      const double angle = static_cast<double>(position) * rate;
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
    cosines_ = sent(cosines, {most_tokens, size / 2});
    sines_ = sent(sines, {most_tokens, size / 2});
    table_ = sent(std::vector<std::int32_t>{0, 1, 2, 3}, {1, pages});
    one_ = sent(std::vector<std::int32_t>{1}, {1});
  }

  /// Gives `add` the requests of a step, one after the other.
  template <class Add>
  void requests(Add&& add) const {
    // The token, its position, and the tokens of the sequence with it.
    const auto number = [&](std::int64_t i) { return numbers_.slice(0, i, i + 1).value(); };
    add(troupe::memory::copy{.from = given_, .to = numbers_});
    add(ew::gather_rows{.table = embedding_, .indices = number(0), .y = x_});
    add(ew::gather_rows{.table = cosines_, .indices = number(1), .y = cosine_});
    add(ew::gather_rows{.table = sines_, .indices = number(1), .y = sine_});
    for (const layer& l : layers_) {
      add(ew::rms_norm{.x = x_, .y = normed_});
      add(gemm{.a = normed_, .b = l.qkv_weights, .c = qkv_});
      for (const int i : {0, 1}) {
        const any_tensor part = in_heads(columns(i));
        add(ew::rotary_embedding{.x = part, .cos = cosine_, .sin = sine_, .y = part});
      }
      add(ew::scatter_rows{.x = columns(1), .indices = number(1), .table = l.keys});
      add(ew::scatter_rows{.x = columns(2), .indices = number(1), .table = l.values});
      const auto by_head = [](const any_tensor& t) { return t.permute({0, 2, 1, 3}).value(); };
      add(troupe::dnn::attention_forward{.q = by_head(in_heads(columns(0))),
                                         .k = in_pages(l.keys),
                                         .v = in_pages(l.values),
                                         .o = by_head(in_heads(joined_)),
                                         .mask = {.diagonal = troupe::dnn::diagonal::bottom_right,
                                                  .right = 0,
                                                  .lengths_q = one_,
                                                  .lengths_kv = number(2)},
                                         .all_attend = true,
                                         .pages = {.k = table_, .v = table_}});
      add(gemm{.a = joined_, .b = l.joined, .c = x_, .beta = 1});
      add(ew::rms_norm{.x = x_, .y = normed_});
      add(gemm{.a = normed_, .b = l.up, .c = inner_});
      add(ew::activation{.x = inner_, .y = inner_, .kind = ew::activation_kind::silu});
      add(gemm{.a = inner_, .b = l.down, .c = x_, .beta = 1});
    }
    add(ew::rms_norm{.x = x_, .y = normed_});
    add(gemm{.a = normed_, .b = output_, .c = logits_});
    add(troupe::memory::copy{.from = logits_, .to = answer_});
  }

  /// The step as a graph. Its parameters are the rows of the caches that it writes.
  [[nodiscard]] troupe::request_graph recorded() const {
    troupe::graph_recorder rec = gpu_.record("decode step");
    std::size_t stored = 0;
    requests([&](const auto& one) {
      const auto added = rec.add(one);
      if constexpr (requires {
                      one.table;
                      one.mode;
                    }) {
        // region: rows
        const any_tensor row = one.table.slice(0, 0, 1).value();
        rec.writes_only(added, "table", {row});
        rec.parameter(name_of(stored++), row, one.table);
        // endregion: rows
      }
    });
    return std::move(rec).finish().value();
  }
  /// The rows of the token at this position.
  [[nodiscard]] std::vector<troupe::graph_argument> rows_of(std::int64_t position) const {
    std::vector<troupe::graph_argument> rows;
    for (const layer& l : layers_) {
      for (const any_tensor& cache : {l.keys, l.values})
        rows.push_back({name_of(rows.size()), cache.slice(0, position, position + 1).value()});
    }
    return rows;
  }

  void give(std::int32_t token, std::int64_t position) {
    given_[0] = token;
    given_[1] = static_cast<std::int32_t>(position);
    given_[2] = static_cast<std::int32_t>(position + 1);
  }
  /// The most likely next token.
  [[nodiscard]] std::int32_t likeliest() const {
    const std::span all(answer_.data(), static_cast<std::size_t>(vocabulary));
    return static_cast<std::int32_t>(std::ranges::max_element(all) - all.begin());
  }

 private:
  struct layer {
    any_tensor qkv_weights, joined, up, down, keys, values;
  };

  static std::string name_of(std::size_t row) { return "row" + std::to_string(row); }
  any_tensor columns(std::int64_t i) const {
    return qkv_.slice(1, i * width, (i + 1) * width).value();
  }
  static any_tensor in_heads(const any_tensor& row) {
    return row.as_strided({1, 1, heads, size}, {width, width, size, 1}).value();
  }
  static any_tensor in_pages(const any_tensor& cache) {
    return cache.reshape({pages, page, heads, size}).value().permute({0, 2, 1, 3}).value();
  }
  any_tensor made(const troupe::shape& extents) {
    return gpu_.tensor<float>(extents, troupe::initial::zero).value();
  }
  template <class T>
  any_tensor sent(const std::vector<T>& values, const troupe::shape& extents) {
    auto t = gpu_.tensor<T>(extents).value();
    gpu_.copy(std::span(values), t).get();
    return t;
  }
  any_tensor weights(std::int64_t rows, std::int64_t columns) {
    std::normal_distribution<float> normal(0, 1.5f / std::sqrt(static_cast<float>(rows)));
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (float& one : values)
      one = normal(random_);
    return sent(values, {rows, columns});
  }

  troupe::device gpu_;
  std::mt19937 random_{2026};
  any_tensor embedding_, output_, cosines_, sines_, table_, one_;
  std::vector<layer> layers_;
  troupe::host_tensor<std::int32_t> given_ = gpu_.host_tensor<std::int32_t>({3}).value();
  troupe::host_tensor<float> answer_ = gpu_.host_tensor<float>({1, vocabulary}).value();
  any_tensor numbers_ = gpu_.tensor<std::int32_t>({3}).value();
  any_tensor x_ = made({1, width}), normed_ = made({1, width}), joined_ = made({1, width});
  any_tensor qkv_ = made({1, 3 * width}), inner_ = made({1, 2 * width});
  any_tensor cosine_ = made({1, size / 2}), sine_ = made({1, size / 2});
  any_tensor logits_ = made({1, vocabulary});
};

/// Makes tokens after the prompt; `step` runs a step.
template <class Step>
std::vector<std::int32_t> generate(generator& with, Step&& step) {
  std::vector<std::int32_t> all = {3, 1, 4, 1, 5, 9, 2, 6};
  for (std::size_t i = 0; i + 1 < most_tokens; ++i) {
    with.give(all[i], static_cast<std::int64_t>(i));
    step(static_cast<std::int64_t>(i));
    if (i + 1 == all.size()) all.push_back(with.likeliest());
  }
  return all;
}

}  // namespace

int main() try {
  troupe::system system;
  troupe::device gpu = system.device(0, {.restarts = {.restarts = 100}});
  gpu.wait_until_ready().value();
  generator transformer(gpu);
  const auto one_by_one = generate(transformer, [&](std::int64_t) {
    std::vector<troupe::future<void>> sent;
    transformer.requests([&](const auto& one) { sent.push_back(gpu.ask(one)); });
    for (auto& answer : sent)
      answer.get();
  });
  const troupe::request_graph graph = transformer.recorded();
  const std::uint64_t before = gpu.generation();
  const auto kill = [&] {
    if (const auto worker = gpu.worker_pid()) ::kill(*worker, SIGKILL);
  };
  const auto by_graph = generate(transformer, [&](std::int64_t position) {
    if (position % 10 == 5) kill();  // between two tokens
    auto run = gpu.run(graph, transformer.rows_of(position));
    if (position % 10 == 9) {
      std::this_thread::sleep_for(std::chrono::microseconds(position * 7));
      kill();  // about in the middle
    }
    run.get();  // a step is run again by the next worker
  });
  for (const std::int32_t token : by_graph)
    std::cout << token << ' ';
  const bool same = by_graph == one_by_one;
  std::cout << '\n'
            << graph.size() << " requests a step; " << gpu.generation() - before
            << " workers were lost; the tokens are " << (same ? "the same\n" : "others\n");
  return same && gpu.generation() > before ? 0 : 1;
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
