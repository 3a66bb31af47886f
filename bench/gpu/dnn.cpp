// The cost of requests of dnn through Troupe, beside cuDNN called directly with the same plan; and
// how soon a worker's plans are available again after it is lost. `bench_gpu_dnn [PART OF A NAME]`
// measures the cases with that in their names: "decode", "50 plans".

#include "death_watch.hpp"
#include "gpu/dnn/direct_cudnn.hpp"
#include "side_by_side.hpp"

#include <troupe/core/system.hpp>
#include <troupe/dnn.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

/// Makes tensors of one side.
class maker {
 public:
  virtual ~maker() = default;
  [[nodiscard]] virtual any_tensor make(dtype type, std::vector<std::int64_t> extents) = 0;
  [[nodiscard]] virtual any_tensor numbers(const std::vector<std::int32_t>& content,
                                           std::vector<std::int64_t> extents) = 0;
  /// [n, c, h, w] whose channels lie last.
  [[nodiscard]] any_tensor image(std::vector<std::int64_t> e) {
    return make(dtype::bf16, {e[0], e[2], e[3], e[1]}).permute({0, 3, 1, 2}).value();
  }
};

class ours_maker final : public maker {
 public:
  explicit ours_maker(device gpu) : gpu_(std::move(gpu)) {}
  any_tensor make(dtype type, std::vector<std::int64_t> extents) override {
    auto made = gpu_.allocate(type, shape(extents)).value();
    gpu_.ask(memory::fill{.to = made, .value = 0.25}).get();
    return made;
  }
  any_tensor numbers(const std::vector<std::int32_t>& content,
                     std::vector<std::int64_t> extents) override {
    auto made = gpu_.tensor<std::int32_t>(shape(extents)).value();
    gpu_.copy(std::span(content), made).get();
    return made;
  }

 private:
  device gpu_;
};

class raw_maker final : public maker {
 public:
  explicit raw_maker(raw::stream& stream) : stream_(stream) {}
  any_tensor make(dtype type, std::vector<std::int64_t> extents) override {
    const shape all(extents);
    const auto count =
        std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
    kept_.push_back(std::make_unique<raw::memory>(raw::memory::place::device,
                                                  static_cast<std::size_t>(count * size_of(type))));
    // 0.25 in bf16; other types hold results, or are written by `numbers`.
    std::vector<std::uint16_t> quarter(static_cast<std::size_t>(count * size_of(type)) / 2, 0x3e80);
    stream_.copy(kept_.back()->address(), quarter.data(), quarter.size() * 2);
    stream_.synchronize();
    return any_tensor::unowned(static_cast<std::byte*>(kept_.back()->address()), type, all);
  }
  any_tensor numbers(const std::vector<std::int32_t>& content,
                     std::vector<std::int64_t> extents) override {
    any_tensor made = make(dtype::i32, extents);
    stream_.copy(made.address(), content.data(), content.size() * sizeof(std::int32_t));
    stream_.synchronize();
    return made;
  }

 private:
  raw::stream& stream_;
  std::vector<std::unique_ptr<raw::memory>> kept_;
};

dnn::convolution_forward forward(maker& m, std::int64_t n, std::int64_t c, std::int64_t side,
                                 std::int64_t k, bool follows) {
  dnn::convolution_forward r{.x = m.image({n, c, side, side}),
                             .w = m.image({k, c, 3, 3}),
                             .y = m.image({n, k, side, side}),
                             .padding = {1}};
  if (follows) {
    r.bias = m.make(dtype::bf16, {k});
    r.activation = dnn::activation::relu;
  }
  return r;
}
dnn::convolution_backward_data backward_data(maker& m, std::int64_t n, std::int64_t c,
                                             std::int64_t side, std::int64_t k) {
  return {.dy = m.image({n, k, side, side}),
          .w = m.image({k, c, 3, 3}),
          .dx = m.image({n, c, side, side}),
          .padding = {1}};
}
dnn::convolution_backward_filter backward_filter(maker& m, std::int64_t n, std::int64_t c,
                                                 std::int64_t side, std::int64_t k) {
  return {.x = m.image({n, c, side, side}),
          .dy = m.image({n, k, side, side}),
          .dw = m.image({k, c, 3, 3}),
          .padding = {1}};
}

constexpr std::int64_t head = 128;

dnn::attention_forward attention(maker& m, std::int64_t b, std::int64_t h, std::int64_t s,
                                 bool causal) {
  const auto rows = [&] { return m.make(dtype::bf16, {b, h, s, head}); };
  return {.q = rows(),
          .k = rows(),
          .v = rows(),
          .o = rows(),
          .statistics = m.make(dtype::f32, {b, h, s, 1}),
          .mask = {.right = causal ? 0 : -1}};
}
dnn::attention_backward attention_backward(maker& m, std::int64_t b, std::int64_t h, std::int64_t s,
                                           bool causal) {
  const auto rows = [&] { return m.make(dtype::bf16, {b, h, s, head}); };
  return {.q = rows(),
          .k = rows(),
          .v = rows(),
          .o = rows(),
          .dout = rows(),
          .statistics = m.make(dtype::f32, {b, h, s, 1}),
          .dq = rows(),
          .dk = rows(),
          .dv = rows(),
          .mask = {.right = causal ? 0 : -1}};
}
/// One query of each sequence, whose 8 192 keys of 8 heads are in pages: as `kv_step::attend` sends
/// it.
dnn::attention_forward decoding(maker& m, std::int64_t b) {
  constexpr std::int64_t heads = 32;
  constexpr std::int64_t key_heads = 8;
  constexpr std::int64_t keys = 8192;
  constexpr std::int64_t page = 64;
  std::vector<std::int32_t> table(static_cast<std::size_t>(b * keys / page));
  std::iota(table.begin(), table.end(), 0);
  const auto pages = [&] { return m.make(dtype::bf16, {b * keys / page, key_heads, page, head}); };
  const auto lengths = [&](std::int32_t all) {
    return m.numbers(std::vector<std::int32_t>(static_cast<std::size_t>(b), all), {b});
  };
  return {
      .q = m.make(dtype::bf16, {b, heads, 1, head}),
      .k = pages(),
      .v = pages(),
      .o = m.make(dtype::bf16, {b, heads, 1, head}),
      .mask = {.lengths_q = lengths(1), .lengths_kv = lengths(keys)},
      .all_attend = true,
      .pages = {.k = m.numbers(table, {b, keys / page}), .v = m.numbers(table, {b, keys / page})}};
}

/// Both sides of one request, in one stream and one lane.
template <class Make>
void compare(report& out, const device& gpu, raw::stream& stream, const std::string& name,
             std::size_t loop, double flops, Make make) {
  section(out, name, [&] {
    raw_maker theirs(stream);
    ours_maker own(gpu);
    raw::cudnn_plan plan(stream, make(theirs));
    const auto request = make(own);
    const library_actor lane = gpu.library("dnn");
    const auto begin = std::chrono::steady_clock::now();
    auto first = request;
    lane.ask(std::move(first)).get();
    const double first_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    fmt::print("  {}: first {:.1f} ms, directly {:.1f} ms to make the plan\n", name, first_ms,
               plan.build_ms());
    auto times = take_in_turn(
        {.blocks = 8, .warm_up = 2, .per_block = 4},
        [&] {
          for (std::size_t i = 0; i < loop; ++i)
            plan.run();
          stream.synchronize();
        },
        [&] {
          for (std::size_t i = 0; i < loop; ++i) {
            auto again = request;
            lane.tell(std::move(again)).value();
          }
          lane.ask(troupe::lane::marker{}).get();
        });
    add_times(out, times,
              {.name = name,
               .reference = "cuDNN, the same plan",
               .unit = "us",
               .per_microsecond = 1.0 / static_cast<double>(loop),
               .median = ratio_at_most(1.02)});
    if (flops > 0) {
      out.add({name + ", rate", flops * static_cast<double>(loop) / times.ours.typical() * 1e-6,
               "TFLOP/s"});
    }
  });
}

/// The worker is killed; how long until each of the plans has answered again.
void lose_and_answer(report& out, int plans) {
  troupe::system system;
  device gpu = system.device(0, {.backend = backend_kind::cuda,
                                 .restarts = {.restarts = 1'000},
                                 .backoff = {.initial = std::chrono::nanoseconds(0)}});
  wait_until_settled(gpu, true);
  ours_maker own(gpu);
  std::vector<dnn::convolution_forward> convolutions;
  std::vector<dnn::attention_forward> attentions;
  for (int i = 0; i < plans / 2; ++i) {
    convolutions.push_back(forward(own, 8, 64, 28, 64 + 8 * i, true));
    attentions.push_back(attention(own, 1, 8, 256 + 64 * i, true));
  }
  const auto all = [&] {
    std::vector<future<void>> open;
    for (const auto& one : convolutions)
      open.push_back(gpu.ask(dnn::convolution_forward(one)));
    for (const auto& one : attentions)
      open.push_back(gpu.ask(dnn::attention_forward(one)));
    for (auto& one : open)
      one.get();
  };
  using std::chrono::steady_clock;
  const auto ms = [](steady_clock::time_point since) {
    return std::chrono::duration<double, std::milli>(steady_clock::now() - since).count();
  };
  const auto begin = steady_clock::now();
  all();
  out.add({fmt::format("{} plans, first answers", plans), ms(begin), "ms"});
  samples lost;
  samples since_death;  // before that, the old worker could still write
  dnn::plan_counts counts;
  for (int i = 0; i < 10; ++i) {
    wait_until_settled(gpu, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const pid_t worker = gpu.worker_pid().value();
    death_watch watch(worker);
    const auto at = steady_clock::now();
    ::kill(worker, SIGKILL);
    all();
    lost.add(ms(at));
    since_death.add(ms(watch.seen()));
    counts = gpu.ask(dnn::plans{}).get();
    if (counts.built != 0) throw std::runtime_error("a plan was built again");
  }
  out.add({fmt::format("{} plans, killed to all answered, p50", plans), lost.median(), "ms"});
  out.add({fmt::format("{} plans, killed to all answered, worst", plans), lost.p99(), "ms"});
  out.add({fmt::format("{} plans, death of the worker to all answered, p50", plans),
           since_death.median(), "ms"});
  out.add({fmt::format("{} plans, death of the worker to all answered, worst", plans),
           since_death.p99(), "ms"});
  out.add({"of these, loaded ahead", static_cast<double>(counts.ahead), ""});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view only = argc > 1 ? argv[1] : "";
  const auto wanted = [&](std::string_view name) { return name.find(only) != only.npos; };
  report out("gpu_dnn: convolutions and attention through Troupe, beside cuDNN called directly");
  section(out, "everything", [&] {
    const std::string name = raw::open_device();
    fmt::print("{}\n", name);
    {
      troupe::system system;
      const device gpu = system.device(0, {.backend = backend_kind::cuda, .full = when_full::wait});
      wait_until_settled(gpu, true);
      raw::stream stream;
      const auto convolution_flops = [](std::int64_t n, std::int64_t c, std::int64_t side,
                                        std::int64_t k) {
        return 2.0 * static_cast<double>(n * c * side * side * k * 9);
      };
      const auto beside = [&](const std::string& what, std::size_t loop, double flops, auto make) {
        if (wanted(what)) compare(out, gpu, stream, what, loop, flops, make);
      };
      const double small = convolution_flops(64, 64, 56, 64);
      const double large = convolution_flops(32, 256, 56, 512);
      beside("conv 64x64x56x56, 3x3", 50, small,
             [](maker& m) { return forward(m, 64, 64, 56, 64, false); });
      beside("conv 64x64x56x56, bias, relu", 50, small,
             [](maker& m) { return forward(m, 64, 64, 56, 64, true); });
      beside("conv 32x256x56x56 to 512", 10, large,
             [](maker& m) { return forward(m, 32, 256, 56, 512, false); });
      beside("conv 32x256x56x56 to 512, dx", 10, large,
             [](maker& m) { return backward_data(m, 32, 256, 56, 512); });
      beside("conv 32x256x56x56 to 512, dw", 10, large,
             [](maker& m) { return backward_filter(m, 32, 256, 56, 512); });
      for (const std::int64_t s : {2048, 8192}) {
        for (const bool causal : {false, true}) {
          const std::int64_t b = 16384 / s;
          const double flops = 4.0 * static_cast<double>(b * 16 * head) *
                               static_cast<double>(s * s) / (causal ? 2 : 1);
          const std::string what = fmt::format("attention {}{}", s, causal ? " causal" : "");
          beside(what, 10, flops, [=](maker& m) { return attention(m, b, 16, s, causal); });
          beside(what + ", backward", 5, 2.5 * flops,
                 [=](maker& m) { return attention_backward(m, b, 16, s, causal); });
        }
      }
      for (const std::int64_t b : {1, 64}) {
        beside(fmt::format("decode 8192 keys in pages, batch {}", b), 50, 0,
               [=](maker& m) { return decoding(m, b); });
      }
    }
    raw::close_device();
  });
  section(out, "losses", [&] {
    for (const int plans : {2, 16, 50}) {
      if (wanted(fmt::format("{} plans", plans))) lose_and_answer(out, plans);
    }
  });
  return out.finish();
}
