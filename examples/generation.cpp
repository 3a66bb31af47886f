// Tokens from a small transformer with random weights, one after another, with keys and values in a
// paged cache. The worker is killed in the middle of steps; the tokens are those of a run without
// that, because the cache is the program's, and a step that was lost is taken again.

#include <troupe/blas.hpp>
#include <troupe/dnn.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/troupe.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <iostream>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace {

namespace dnn = troupe::dnn;
namespace ew = troupe::elementwise;
using number = troupe::f16;
using matrix = troupe::any_tensor;
using troupe::blas::gemm;

constexpr std::int64_t vocabulary = 96;
constexpr std::int64_t layers = 3;
constexpr std::int64_t heads = 4;
constexpr std::int64_t key_heads = 2;  // two query heads share each
constexpr std::int64_t head_size = 32;
constexpr std::int64_t width = heads * head_size;
constexpr std::int64_t most_tokens = 256;

class model {
 public:
  explicit model(const troupe::device& gpu) : gpu_(gpu) {
    embedding_ = weights(vocabulary, width);
    output_ = weights(width, vocabulary);
    for (std::int64_t i = 0; i < layers; ++i) {
      layers_.push_back({weights(width, (heads + 2 * key_heads) * head_size), weights(width, width),
                         weights(width, 2 * width), weights(2 * width, width)});
    }
    std::vector<float> cosine;
    std::vector<float> sine;
    for (std::int64_t i = 0; i < most_tokens; ++i) {
      for (std::int64_t j = 0; j < head_size / 2; ++j) {
        const double angle =
            static_cast<double>(i) * std::pow(1e4, -2.0 * static_cast<double>(j) / head_size);
        cosine.push_back(static_cast<float>(std::cos(angle)));
        sine.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    cosine_ = sent(cosine, {most_tokens, head_size / 2});
    sine_ = sent(sine, {most_tokens, head_size / 2});
  }

  /// Appends tokens to a sequence and returns the most likely next one. An error leaves the
  /// sequence as it was. `midway` is called when about half of the requests have been sent.
  template <class Midway>
  troupe::result<std::int32_t> next(dnn::kv_cache& cache, dnn::kv_sequence sequence,
                                    std::span<const std::int32_t> tokens, Midway midway) {
    const auto n = static_cast<std::int64_t>(tokens.size());
    const std::int64_t first = cache.length(sequence).value();
    requests asked(gpu_);
    auto ids = gpu_.tensor<std::int32_t>({n}).value();
    asked.add(gpu_.copy(tokens, ids));
    const auto x = asked.send(ew::gather_rows{.table = embedding_, .indices = ids}).y;
    const auto cosine = cosine_.slice(0, first, first + n).value();
    const auto sine = sine_.slice(0, first, first + n).value();

    // region: step
    auto step = cache.step(std::span(&sequence, 1), n);
    if (!step) return std::move(step).error();
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const weights_of_layer& w = layers_[static_cast<std::size_t>(layer)];
      const auto normed = asked.send(ew::rms_norm{.x = x}).y;
      const auto qkv = asked.send(gemm{.a = normed, .b = w.qkv}).c;
      // Views [1, n, heads, head_size] of columns of one matrix.
      const auto q = part(qkv, 0, heads);
      const auto k = part(qkv, heads, key_heads);
      const auto v = part(qkv, heads + key_heads, key_heads);
      for (const auto& rotated : {q, k})
        asked.send(ew::rotary_embedding{.x = rotated, .cos = cosine, .sin = sine, .y = rotated});
      asked.add(step->append(layer, k, v));
      // Heads lie beside each other in o, as they do in q.
      const auto o = asked.send(step->attend(layer, q.permute({0, 2, 1, 3}).value(), {})).o;
      // endregion: step
      const auto joined = o.permute({0, 2, 1, 3}).value().reshape({n, width}).value();
      asked.send(gemm{.a = joined, .b = w.joined, .c = x, .beta = 1});
      const auto inner = asked.send(gemm{.a = asked.send(ew::rms_norm{.x = x}).y, .b = w.up}).c;
      asked.send(ew::activation{.x = inner, .y = inner, .kind = ew::activation_kind::silu});
      asked.send(gemm{.a = inner, .b = w.down, .c = x, .beta = 1});
      if (layer == layers / 2) midway();
    }
    const auto last = asked.send(ew::rms_norm{.x = x.slice(0, n - 1, n).value()}).y;
    const auto logits = asked.send(gemm{.a = last, .b = output_}).c;
    std::vector<number> values(vocabulary);
    asked.add(gpu_.copy(logits, std::span(values)));
    if (auto all = asked.wait(); !all) return std::move(all).error();
    // Only now are the tokens part of the sequence.
    if (auto done = step->commit(); !done) return std::move(done).error();
    const auto likeliest =
        std::ranges::max_element(values, {}, [](number one) { return static_cast<float>(one); });
    return static_cast<std::int32_t>(likeliest - values.begin());
  }

 private:
  struct weights_of_layer {
    matrix qkv, joined, up, down;
  };

  /// Requests in flight, and the first error among them.
  class requests {
   public:
    explicit requests(const troupe::device& gpu) : gpu_(gpu) {}
    void add(troupe::future<void> one) { all_.push_back(std::move(one)); }
    /// With its outputs.
    template <class R>
    R send(R r) {
      auto sent = gpu_.compute(std::move(r));
      add(sent.answer());
      return *sent;
    }
    troupe::result<void> wait() {
      troupe::result<void> outcome;
      for (auto& one : all_) {
        if (auto done = one.get_result(); !done && outcome) outcome = std::move(done);
      }
      return outcome;
    }

   private:
    const troupe::device& gpu_;
    std::vector<troupe::future<void>> all_;
  };

  static troupe::any_tensor part(const matrix& of, std::int64_t head, std::int64_t count) {
    const std::int64_t n = of.extent(0);
    return of.slice(1, head * head_size, (head + count) * head_size)
        .value()
        .as_strided({1, n, count, head_size}, {n * of.stride(0), of.stride(0), head_size, 1})
        .value();
  }
  matrix sent(const std::vector<float>& values, const troupe::shape& extents) {
    std::vector<number> rounded;
    rounded.reserve(values.size());
    for (const float one : values)
      rounded.emplace_back(one);
    auto t = gpu_.tensor<number>(extents).value();
    gpu_.copy(std::span(rounded), t).get();
    return t;
  }
  matrix weights(std::int64_t rows, std::int64_t columns) {
    std::normal_distribution<float> normal(0, 1.5f / std::sqrt(static_cast<float>(rows)));
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (float& one : values)
      one = normal(random_);
    return sent(values, {rows, columns});
  }

  troupe::device gpu_;
  std::mt19937 random_{2026};
  matrix embedding_, output_, cosine_, sine_;
  std::vector<weights_of_layer> layers_;
};

/// `kills` says whether a worker is killed in the middle of every tenth step.
std::vector<std::int32_t> generate(troupe::device& gpu, model& with, bool kills) {
  auto cache = dnn::kv_cache::make(gpu, {.layers = layers,
                                         .heads = key_heads,
                                         .key_size = head_size,
                                         .pages = most_tokens / 16,
                                         .type = troupe::dtype_of<number>})
                   .value();
  const auto sequence = cache.begin();
  std::vector<std::int32_t> all = {3, 1, 4, 1, 5, 9, 2, 6};  // the prompt
  std::span<const std::int32_t> fresh = all;
  int taken_again = 0;
  while (all.size() < 60) {
    bool kill = kills && all.size() % 10 == 9;
    for (;;) {
      const auto token = with.next(cache, sequence, fresh, [&] {
        if (std::exchange(kill, false)) ::kill(gpu.worker_pid().value(), SIGKILL);
      });
      if (token) {
        all.push_back(*token);
        break;
      }
      std::cout << "a step is taken again: " << token.error().code_name << '\n';
      if (++taken_again > 100) throw troupe::failure(token.error());
    }
    fresh = std::span(all).last(1);
  }
  return all;
}

}  // namespace

int main() try {
  troupe::system system;
  troupe::device gpu = system.device(0, {.restarts = {.restarts = 100}});
  gpu.wait_until_ready().value();
  model transformer(gpu);
  const auto undisturbed = generate(gpu, transformer, false);
  const std::uint64_t before = gpu.generation();
  const auto disturbed = generate(gpu, transformer, true);
  for (const std::int32_t token : disturbed)
    std::cout << token << ' ';
  const bool same = disturbed == undisturbed;
  std::cout << '\n'
            << gpu.generation() - before << " workers were lost; the tokens are "
            << (same ? "the same\n" : "others\n");
  return same && gpu.generation() > before ? 0 : 1;
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
