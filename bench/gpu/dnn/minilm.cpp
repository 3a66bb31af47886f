// MiniLM's encoder in f16, with random weights of its shapes, as `python -m troupe.serve` computes
// it: packed, one graph for each product with what follows. Texts a second; minilm_torch.py
// measures PyTorch's, padded, in the same run. TROUPE_BACKEND=cpu rehearses it.

#include "gpu/random_numbers.hpp"
#include "gpu/side_by_side.hpp"

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/dnn.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/memory/fill.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int64_t layers = 6;
constexpr std::int64_t heads = 12;
constexpr std::int64_t width = 384;
constexpr std::int64_t inner = 4 * width;
constexpr std::int64_t vocabulary = 30'522;
constexpr std::int64_t positions = 512;
constexpr int turns = 15;

dnn::computation joined() {
  return dnn::computation::of(6, [](std::span<const dnn::nodes::node> x) {
    return layer_norm(matmul(x[0], x[1]) + x[2] + x[3], x[4], x[5], 1e-12);
  });
}
dnn::computation linear(bool gelu_follows) {
  return dnn::computation::of(3, [=](std::span<const dnn::nodes::node> x) {
    const auto y = matmul(x[0], x[1]) + x[2];
    return gelu_follows ? gelu(y) : y;
  });
}

class encoder {
 public:
  explicit encoder(const device& gpu) : gpu_(gpu) {
    words_ = random({vocabulary, width}, 1);
    places_ = random({positions, width}, 1);
    kind_ = random({1, width}, 1);
    layers_.reserve(static_cast<std::size_t>(layers));
    for (std::int64_t i = 0; i < layers; ++i) {
      layers_.push_back({.qkv = weight(3 * width, width),
                         .qkv_bias = random({3 * width}, 0.1F),
                         .out = weight(width, width),
                         .up = weight(inner, width),
                         .up_bias = random({inner}, 0.1F),
                         .down = weight(width, inner)});
    }
    bias_ = random({width}, 0.1F);
    one_ = random({width}, 1);
  }

  /// The vectors of texts of these lengths; all requests are sent before any is waited for.
  any_tensor encode(const std::vector<std::int32_t>& lengths) {
    const packed_texts texts = packed(lengths);
    const std::int64_t n = texts.ids.extent(0);
    const any_tensor a = room(dtype::f16, {n, width});
    const any_tensor b = room(dtype::f16, {n, width});
    any_tensor x = room(dtype::f16, {n, width});
    send("elementwise", elementwise::gather_rows{.table = words_, .indices = texts.ids, .y = a});
    send("elementwise",
         elementwise::gather_rows{.table = places_, .indices = texts.positions, .y = b});
    static const auto sum = dnn::computation::of(5, [](std::span<const dnn::nodes::node> t) {
      return layer_norm(t[0] + t[1] + t[2], t[3], t[4], 1e-12);
    });
    compute(sum, {a, b, kind_, one_, bias_}, x);
    for (const layer& one : layers_)
      x = run(one, x, texts);
    return mean(x, texts);
  }

 private:
  struct layer {
    any_tensor qkv, qkv_bias, out, up, up_bias, down;
  };
  /// Tokens one behind another, and where each text begins, in elements.
  struct packed_texts {
    any_tensor ids, positions, lengths, ones, joined, tokens, texts;
    std::int64_t longest = 0;
  };

  any_tensor run(const layer& one, const any_tensor& x, const packed_texts& texts) {
    static const auto plain = linear(false);
    static const auto wider = linear(true);
    static const auto closing = joined();
    const std::int64_t n = x.extent(0);
    const any_tensor qkv = room(dtype::f16, {n, 3 * width});
    compute(plain, {x, one.qkv.transpose(), one.qkv_bias}, qkv);
    const any_tensor parts = qkv.reshape({n, 3 * heads, width / heads}).value();
    const auto part = [&](std::int64_t i) {
      return parts.slice(1, i * heads, (i + 1) * heads).value();
    };
    const any_tensor o = room(dtype::f16, {n, width});
    send("dnn", attention(part(0), part(1), part(2), o.reshape({n, heads, width / heads}).value(),
                          texts, texts.joined));
    const any_tensor y = room(dtype::f16, {n, width});
    compute(closing, {o, one.out.transpose(), bias_, x, one_, bias_}, y);
    const any_tensor u = room(dtype::f16, {n, inner});
    compute(wider, {y, one.up.transpose(), one.up_bias}, u);
    any_tensor z = room(dtype::f16, {n, width});
    compute(closing, {u, one.down.transpose(), bias_, y, one_, bias_}, z);
    return z;
  }

  static dnn::attention_forward attention(const any_tensor& q, const any_tensor& k,
                                          const any_tensor& v, const any_tensor& o,
                                          const packed_texts& texts, const any_tensor& begins) {
    return {.q = q,
            .k = k,
            .v = v,
            .o = o,
            .mask = {.lengths_q = texts.lengths, .lengths_kv = texts.lengths},
            .all_attend = true,
            .packed = {.offsets_q = begins,
                       .offsets_k = begins,
                       .offsets_v = begins,
                       .offsets_o = texts.tokens,
                       .longest_q = texts.longest,
                       .longest_kv = texts.longest}};
  }

  /// Over each text's tokens: attention of a query that is zero.
  any_tensor mean(const any_tensor& x, const packed_texts& texts) {
    const std::int64_t count = texts.lengths.extent(0);
    const any_tensor zero = room(dtype::f16, {count, heads, width / heads});
    gpu_.ask(memory::fill{.to = zero, .value = 0.0}).get();
    const any_tensor y = room(dtype::f16, {count, width});
    const any_tensor parts = x.reshape({x.extent(0), heads, width / heads}).value();
    dnn::attention_forward r = attention(
        zero, parts, parts, y.reshape({count, heads, width / heads}).value(), texts, texts.tokens);
    r.mask.lengths_q = texts.ones;
    r.packed.offsets_q = texts.texts;
    r.packed.offsets_o = texts.texts;
    r.packed.longest_q = 1;
    send("dnn", r);
    const any_tensor wide = room(dtype::f32, {count, width});
    static const auto same = elementwise::function::of(1, [](auto t) { return t[0]; });
    send("elementwise", elementwise::map{.inputs = {y}, .outputs = {wide}, .what = same});
    const any_tensor unit = room(dtype::f32, {count, width});
    gpu_.ask(elementwise::l2_normalize{.x = wide, .y = unit}).get();
    return unit;
  }

  packed_texts packed(const std::vector<std::int32_t>& lengths) {
    std::vector<std::int32_t> ids;
    std::vector<std::int32_t> at;
    std::vector<std::int64_t> joined;
    std::vector<std::int64_t> tokens;
    std::vector<std::int64_t> texts;
    packed_texts made;
    for (const std::int32_t length : lengths) {
      joined.push_back(3 * width * static_cast<std::int64_t>(ids.size()));
      tokens.push_back(width * static_cast<std::int64_t>(ids.size()));
      texts.push_back(width * static_cast<std::int64_t>(texts.size()));
      for (std::int32_t i = 0; i < length; ++i) {
        ids.push_back(static_cast<std::int32_t>(1000 + ids.size() * 7919 % 20'000));
        at.push_back(i);
      }
      made.longest = std::max<std::int64_t>(made.longest, length);
    }
    // Also where a text after the last would begin.
    joined.push_back(3 * width * static_cast<std::int64_t>(ids.size()));
    tokens.push_back(width * static_cast<std::int64_t>(ids.size()));
    texts.push_back(width * static_cast<std::int64_t>(lengths.size()));
    made.ids = sent(dtype::i32, std::span<const std::int32_t>(ids));
    made.positions = sent(dtype::i32, std::span<const std::int32_t>(at));
    made.lengths = sent(dtype::i32, std::span<const std::int32_t>(lengths));
    const std::vector<std::int32_t> ones(lengths.size(), 1);
    made.ones = sent(dtype::i32, std::span<const std::int32_t>(ones));
    made.joined = sent(dtype::i64, std::span<const std::int64_t>(joined));
    made.tokens = sent(dtype::i64, std::span<const std::int64_t>(tokens));
    made.texts = sent(dtype::i64, std::span<const std::int64_t>(texts));
    return made;
  }

  any_tensor room(dtype type, const shape& extents) { return gpu_.allocate(type, extents).value(); }
  template <class T>
  any_tensor sent(dtype type, std::span<const T> data) {
    const any_tensor made = room(type, {static_cast<std::int64_t>(data.size())});
    gpu_.copy_in(type, std::as_bytes(data), made).get();
    return made;
  }
  any_tensor weight(std::int64_t rows, std::int64_t columns) {
    return random({rows, columns}, 1 / std::sqrt(static_cast<float>(columns)));
  }
  any_tensor random(const shape& extents, float scale) {
    const any_tensor made = room(dtype::f16, extents);
    const std::vector<float> numbers =
        random_numbers<float>(static_cast<std::size_t>(made.count()));
    const any_tensor wide = room(dtype::f32, extents);
    gpu_.copy_in(dtype::f32, std::as_bytes(std::span(numbers)), wide).get();
    const auto scaled = elementwise::function::of(1, [=](auto t) { return scale * t[0]; });
    gpu_.ask(elementwise::map{.inputs = {wide}, .outputs = {made}, .what = scaled}).get();
    return made;
  }
  void compute(const dnn::computation& what, std::vector<any_tensor> inputs, const any_tensor& y) {
    send("dnn", dnn::graph{.inputs = std::move(inputs), .outputs = {y}, .what = what});
  }
  template <class R>
  void send(const char* library, const R& r) {
    gpu_.library(library).tell(r).value();
  }

  device gpu_;
  any_tensor words_, places_, kind_, bias_, one_;
  std::vector<layer> layers_;
};

std::vector<float> on_host(device gpu, const any_tensor& y) {
  std::vector<float> found(static_cast<std::size_t>(y.count()));
  gpu.copy(y, std::span(found)).get();
  return found;
}

/// The least cosine of texts in a batch and each by itself.
double likeness(const device& gpu, encoder& model, const std::vector<std::int32_t>& lengths) {
  const auto together = on_host(gpu, model.encode({lengths.front(), lengths.back()}));
  const auto alone = on_host(gpu, model.encode({lengths.front()}));
  return std::inner_product(alone.begin(), alone.end(), together.begin(), 0.0);
}

}  // namespace

int main() {
  report out("gpu_minilm: MiniLM's encoder in f16, batches of 64 texts");
  const char* const backend = std::getenv("TROUPE_BACKEND");
  const bool rehearsal = backend != nullptr && std::string(backend) == "cpu";
  troupe::system system;
  const device gpu = system.device(
      0, {.backend = rehearsal ? backend_kind::cpu : backend_kind::cuda, .full = when_full::wait});
  encoder model(gpu);
  wait_until_settled(gpu, true);
  const std::int64_t count = rehearsal ? 4 : 64;
  std::mt19937 draw(1);
  std::vector<std::int32_t> mixed;
  mixed.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    mixed.push_back(static_cast<std::int32_t>(8 + draw() % 249));
  const std::vector<std::pair<std::string, std::vector<std::int32_t>>> cases{
      {"16 tokens", std::vector<std::int32_t>(static_cast<std::size_t>(count), 16)},
      {"128 tokens", std::vector<std::int32_t>(static_cast<std::size_t>(count), 128)},
      {"8 to 256 tokens", mixed}};
  for (const auto& [name, lengths] : cases) {
    section(out, name, [&] {
      const double alike = likeness(gpu, model, lengths);
      out.add(
          {name + ", cosine of a text alone and in a batch", alike, "", "", {}, at_least(0.999)});
      (void)model.encode(lengths);
      samples times;
      times.take(rehearsal ? 1 : turns, [&] { (void)model.encode(lengths); });
      out.add({name, static_cast<double>(count) * 1e6 / times.median(), "texts/s"});
    });
  }
  return out.finish();
}
