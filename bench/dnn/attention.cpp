// Attention on the CPU backend, beside oneDNN called directly (product, softmax, product, with all
// scores in memory), and beside the two matrix products in it by OpenBLAS, which the CPU backend's
// `blas` uses: the cost of an attention with free softmax, masks and conversions.

#include "dnn/passive_threads.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/blas/batched.hpp>
#include <troupe/device/device.hpp>
#include <troupe/dnn/attention.hpp>
#include <troupe/dnn/kv_cache.hpp>

#include <dnnl.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr int turns = 15;

struct attention_size {
  std::int64_t b, h, h_k, s, d;

  [[nodiscard]] std::string text() const {
    return fmt::format("b {} h {}/{} s {} d {}", b, h, h_k, s, d);
  }
  [[nodiscard]] double gigaflops(bool causal) const {
    const double all = 4e-9 * static_cast<double>(b * h * s) * static_cast<double>(s * d);
    return causal ? all / 2 : all;
  }
};

template <class T>
tensor<T> random_tensor(device& cpu, const shape& extents, std::mt19937& random) {
  auto t = cpu.tensor<T>(extents).value();
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(t.count()));
  for (T& one : values)
    one = static_cast<T>(number(random));
  cpu.copy(std::span(std::as_const(values)), t).get();
  return t;
}

/// oneDNN's parts of attention: a product, a softmax and a product of all heads at once, f32.
class direct_attention {
 public:
  explicit direct_attention(const attention_size& size) : stream_(engine_) {
    const std::int64_t all = size.b * size.h;
    const auto memory = [&](const dnnl::memory::dims& extents, dnnl::memory::format_tag order) {
      return dnnl::memory({extents, dnnl::memory::data_type::f32, order}, engine_);
    };
    using tag = dnnl::memory::format_tag;
    q_ = memory({all, size.s, size.d}, tag::abc);
    const auto k = memory({all, size.d, size.s}, tag::acb);
    const auto v = memory({all, size.s, size.d}, tag::abc);
    const auto scores = memory({all, size.s, size.s}, tag::abc);
    const auto o = memory({all, size.s, size.d}, tag::abc);
    std::mt19937 random(1);
    std::uniform_real_distribution<float> number(-1, 1);
    for (const dnnl::memory& one : {q_, k, v}) {
      auto* const numbers = static_cast<float*>(one.get_data_handle());
      std::generate_n(numbers, one.get_desc().get_size() / sizeof(float),
                      [&] { return number(random); });
    }
    dnnl::primitive_attr scaled;
    scaled.set_output_scales(0, {1 / std::sqrt(static_cast<float>(size.d))});
    add(dnnl::matmul({{q_.get_desc(), k.get_desc(), scores.get_desc()}, scaled, engine_}),
        {{DNNL_ARG_SRC, q_}, {DNNL_ARG_WEIGHTS, k}, {DNNL_ARG_DST, scores}});
    add(dnnl::softmax_forward(
            {{dnnl::prop_kind::forward_inference, scores.get_desc(), 2}, engine_}),
        {{DNNL_ARG_SRC, scores}, {DNNL_ARG_DST, scores}});
    add(dnnl::matmul({{scores.get_desc(), v.get_desc(), o.get_desc()}, engine_}),
        {{DNNL_ARG_SRC, scores}, {DNNL_ARG_WEIGHTS, v}, {DNNL_ARG_DST, o}});
  }

  void run() {
    for (const auto& [what, arguments] : steps_)
      what.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  void add(dnnl::primitive what, std::unordered_map<int, dnnl::memory> arguments) {
    steps_.emplace_back(std::move(what), std::move(arguments));
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_;
  dnnl::memory q_;
  std::vector<std::pair<dnnl::primitive, std::unordered_map<int, dnnl::memory>>> steps_;
};

/// Both in turn, so that both see the same machine.
void beside_onednn(report& out, device& cpu, const attention_size& size) {
  std::mt19937 random(1);
  const shape extents{size.b, size.h, size.s, size.d};
  const dnn::attention_forward r{.q = random_tensor<float>(cpu, extents, random),
                                 .k = random_tensor<float>(cpu, extents, random),
                                 .v = random_tensor<float>(cpu, extents, random),
                                 .o = cpu.tensor<float>(extents).value()};
  direct_attention theirs(size);
  theirs.run();
  cpu.ask(r).get();
  samples direct;
  samples ours;
  samples quotients;
  for (int turn = 0; turn < turns; ++turn) {
    samples calls;
    samples asks;
    if (turn % 2 == 0) calls.take(1, [&] { theirs.run(); });
    asks.take(1, [&] { cpu.ask(r).get(); });
    if (turn % 2 != 0) calls.take(1, [&] { theirs.run(); });
    quotients.add(calls.median() / asks.median());
    direct.add(calls);
    ours.add(asks);
  }
  const double work = 1e6 * size.gigaflops(false);
  out.add({"forward f32 " + size.text() + ", beside oneDNN", work / ours.middle(), "GFLOP/s",
           "oneDNN called directly", work / direct.middle(), ratio_at_least(0.8),
           quotients.middle()});
}

/// GFLOP/s of both products, which only f32 has.
std::optional<double> products(device& cpu, const attention_size& size) {
  std::mt19937 random(1);
  const std::int64_t all = size.b * size.h;
  const auto q = random_tensor<float>(cpu, {all, size.s, size.d}, random);
  const auto k = random_tensor<float>(cpu, {all, size.s, size.d}, random);
  const auto scores = cpu.tensor<float>({all, size.s, size.s}).value();
  const auto o = cpu.tensor<float>({all, size.s, size.d}).value();
  samples times;
  for (int turn = 0; turn < turns; ++turn) {
    times.take(1, [&] {
      cpu.tell(blas::gemm_strided_batched{.a = q, .b = k.transpose(), .c = scores}).value();
      cpu.ask(blas::gemm_strided_batched{.a = scores, .b = k, .c = o}).get();
    });
  }
  return 1e6 * size.gigaflops(false) / times.middle();
}

template <class T>
void forward(report& out, device& cpu, const attention_size& size, bool causal,
             std::optional<double> beside) {
  std::mt19937 random(1);
  dnn::attention_forward r{.q = random_tensor<T>(cpu, {size.b, size.h, size.s, size.d}, random),
                           .k = random_tensor<T>(cpu, {size.b, size.h_k, size.s, size.d}, random),
                           .v = random_tensor<T>(cpu, {size.b, size.h_k, size.s, size.d}, random),
                           .o = cpu.tensor<T>({size.b, size.h, size.s, size.d}).value(),
                           .mask = {.right = causal ? 0 : -1}};
  samples times;
  cpu.ask(r).get();
  times.take(turns, [&] { cpu.ask(r).get(); });
  out.add(
      {fmt::format("forward{} {} {}", causal ? " causal" : "", to_string(dtype_of<T>), size.text()),
       1e6 * size.gigaflops(causal) / times.middle(), "GFLOP/s", "products of f32 by OpenBLAS",
       beside, causal ? std::nullopt : std::optional(ratio_at_least(0.8))});
}

template <class T>
void backward(report& out, device& cpu, const attention_size& size, std::optional<double> beside) {
  std::mt19937 random(1);
  const shape like_q{size.b, size.h, size.s, size.d};
  const shape like_k{size.b, size.h_k, size.s, size.d};
  const auto statistics = cpu.tensor<float>({size.b, size.h, size.s, 1}).value();
  dnn::attention_backward r{.q = random_tensor<T>(cpu, like_q, random),
                            .k = random_tensor<T>(cpu, like_k, random),
                            .v = random_tensor<T>(cpu, like_k, random),
                            .o = cpu.tensor<T>(like_q).value(),
                            .dout = random_tensor<T>(cpu, like_q, random),
                            .statistics = statistics,
                            .dq = cpu.tensor<T>(like_q).value(),
                            .dk = cpu.tensor<T>(like_k).value(),
                            .dv = cpu.tensor<T>(like_k).value()};
  cpu.ask(dnn::attention_forward{.q = r.q, .k = r.k, .v = r.v, .o = r.o, .statistics = statistics})
      .get();
  samples times;
  cpu.ask(r).get();
  times.take(turns, [&] { cpu.ask(r).get(); });
  out.add({fmt::format("backward {} {}", to_string(dtype_of<T>), size.text()),
           2.5e6 * size.gigaflops(false) / times.middle(), "GFLOP/s", "products of f32 by OpenBLAS",
           beside, ratio_at_least(0.8)});
}

/// One token for each of some sequences in a paged cache.
template <class T>
void decode(report& out, device& cpu, std::int64_t b, std::int64_t heads, std::int64_t key_heads,
            std::int64_t s, std::int64_t d) {
  std::mt19937 random(1);
  auto cache = dnn::kv_cache::make(cpu, {.heads = key_heads,
                                         .key_size = d,
                                         .page_size = 64,
                                         .pages = b * (s / 64 + 2),
                                         .type = dtype_of<T>})
                   .value();
  std::vector<dnn::kv_sequence> sequences(static_cast<std::size_t>(b));
  for (dnn::kv_sequence& one : sequences)
    one = cache.begin();
  {
    const auto rows = random_tensor<T>(cpu, {b, s, key_heads, d}, random);
    auto step = cache.step(sequences, s).value();
    (void)step.append(0, rows, rows);
    step.commit().value();
  }
  const auto row = random_tensor<T>(cpu, {b, 1, key_heads, d}, random);
  const auto q = random_tensor<T>(cpu, {b, heads, 1, d}, random);
  const auto o = cpu.tensor<T>({b, heads, 1, d}).value();
  samples steps;
  samples attention;
  for (int turn = 0; turn < 4 * turns; ++turn) {
    auto step = cache.step(sequences, 1).value();
    steps.take(1, [&] {
      (void)step.append(0, row, row);
      const auto r = step.attend(0, q, o);
      attention.take(1, [&] { cpu.ask(r).get(); });
      step.commit().value();
    });
  }
  const std::string text =
      fmt::format("{} b {} h {}/{} s {} d {}", to_string(dtype_of<T>), b, heads, key_heads, s, d);
  const double gigabytes = 2e-9 * static_cast<double>(b * key_heads * s) * static_cast<double>(d) *
                           static_cast<double>(sizeof(T));
  out.add(
      {"decode " + text + ", keys and values read", 1e6 * gigabytes / attention.median(), "GB/s"});
  out.add({"decode " + text + ", append, attend, commit", steps.median(), "us"});
}

}  // namespace

int main(int, char** argv) {
  keep_threads_passive(argv);
  report out("attention on the CPU backend, beside oneDNN and the matrix products in it");
  troupe::system system;
  device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  for (const attention_size& size :
       {attention_size{1, 8, 8, 2048, 64}, attention_size{1, 8, 8, 2048, 128}}) {
    beside_onednn(out, cpu, size);
    const auto beside = products(cpu, size);
    forward<float>(out, cpu, size, false, beside);
    forward<float>(out, cpu, size, true, beside);
    forward<bf16>(out, cpu, size, false, beside);
    forward<f16>(out, cpu, size, false, beside);
    backward<float>(out, cpu, size, beside);
  }
  const attention_size grouped{2, 16, 2, 1024, 128};
  forward<bf16>(out, cpu, grouped, true, products(cpu, grouped));
  decode<float>(out, cpu, 8, 8, 8, 4096, 128);
  decode<bf16>(out, cpu, 8, 32, 8, 4096, 128);
  return out.finish();
}
