#include "conformance/dnn/graph/graph_reference.hpp"

#include <string>

namespace troupe::conformance {
namespace {

using dnn::computation;
using dnn::graph_engine;
using dnn::intermediate_type;
using namespace dnn::nodes;
using namespace graph_reference;

constexpr dtype float_types[] = {dtype::f32, dtype::f64, dtype::f16, dtype::bf16};
constexpr graph_engine engines[] = {graph_engine::automatic, graph_engine::pieces,
                                    graph_engine::plan};

intermediate_type between(dtype type) {
  return type == dtype::f16    ? intermediate_type::f16
         : type == dtype::bf16 ? intermediate_type::bf16
                               : intermediate_type::f32;
}

computation layer_of(node (*activation)(const node&), bool residual) {
  return computation::of(residual ? 4 : 3, [&](std::span<const node> x) {
    const node y = activation(matmul(x[0], x[1]) + x[2]);
    return residual ? y + x[3] : y;
  });
}

TEST(DnnGraph, ComputesAProductWithBiasActivationAndResidual) {
  for (const dtype type : float_types) {
    for (const auto activation : {&relu, &gelu, &gelu_tanh, &silu}) {
      for (const bool residual : {false, true}) {
        for (const graph_engine engine : engines) {
          scene s;
          auto& x = s.tensor(type, {24, 40}, {40, 1});
          auto& w = s.tensor(type, {40, 16}, {16, 1});
          auto& b = s.tensor(type, {16}, {1});
          auto& y = s.tensor(type, {24, 16}, {16, 1});
          std::vector<test_tensor*> inputs{&x, &w, &b};
          if (residual) inputs.push_back(&s.tensor(type, {24, 16}, {16, 1}));
          dnn::graph options{.engine = engine};
          if (s.generator()() % 2 == 0) options.intermediate = between(type);
          if (!check(s, layer_of(activation, residual), inputs, {&y}, options)) return;
        }
      }
    }
  }
}

TEST(DnnGraph, IsDoneInAsFewPiecesAsThereCanBe) {
  const auto pieces_of = [](const computation& what, bool convolves = false) {
    scene s;
    s.keep_layouts();
    dnn::graph r{.what = what, .engine = graph_engine::pieces};
    const numbers image{2, 4, 6, 6};
    const numbers filter{8, 4, 3, 3};
    const numbers response{2, 8, 4, 4};
    const auto packed = [&](const numbers& extents) {
      numbers strides(extents.size(), 1);
      for (std::size_t d = extents.size(); d-- > 1;)
        strides[d - 1] = strides[d] * extents[d];
      return s.tensor(dtype::f32, extents, strides).view;
    };
    if (convolves) {
      r.inputs = {packed(image), packed(filter), packed({8, 1, 1}), packed(response)};
      r.outputs = {packed(response)};
    } else {
      r.inputs = {packed({8, 8}), packed({8, 8}), packed({8}), packed({8, 8})};
      r.outputs = {packed({8, 8})};
    }
    r.inputs.resize(static_cast<std::size_t>(what.inputs()));
    return s.run(r);
  };
  const auto of = [](int inputs, auto f) { return computation::of(inputs, f); };
  // On the CPU all but sums that follow a product are as fast in a pass of their own.
  const bool gpu = scene().on_gpu();
  const std::string product = gpu ? "blaslt.matmul" : "blas.gemm";
  const std::string sum = "blaslt.matmul", tail = gpu ? "" : ", elementwise.map";
  EXPECT_EQ(pieces_of(of(2, [](auto x) { return matmul(x[0], x[1]); })).by, product);
  EXPECT_EQ(pieces_of(of(4, [](auto x) { return x[3] + (matmul(x[0], x[1]) + x[2]); })).by, sum);
  EXPECT_EQ(pieces_of(of(3, [](auto x) { return relu(matmul(x[0], x[1]) + x[2]); })).by,
            sum + tail);
  EXPECT_EQ(
      pieces_of(of(4, [](auto x) { return gelu_tanh(x[2] + (0.5 * matmul(x[0], x[1]) + x[3])); }))
          .by,
      product + tail);
  EXPECT_EQ(pieces_of(of(4, [](auto x) { return gelu(matmul(x[0], x[1]) + x[2]) + x[3]; })).by,
            "blaslt.matmul, elementwise.map");
  EXPECT_EQ(pieces_of(of(2, [](auto x) { return softmax(matmul(x[0], x[1])); })).by,
            product + ", elementwise.rows");
  EXPECT_EQ(
      pieces_of(
          of(4, [](auto x) { return layer_norm(gelu(x[0]) + x[3], x[2], x[2]) * sigmoid(x[1]); }))
          .by,
      "elementwise.rows");
  EXPECT_EQ(pieces_of(of(3, [](auto x) { return relu(convolution(x[0], x[1]) + x[2]); }), true).by,
            "dnn.convolution_forward");
  EXPECT_EQ(
      pieces_of(of(4, [](auto x) { return silu(convolution(x[0], x[1]) * 0.5 + x[3] + x[2]); }),
                true)
          .by,
      "dnn.convolution_forward");
  EXPECT_EQ(pieces_of(of(3, [](auto x) { return relu(convolution(x[0], x[1]) * x[2]); }), true).by,
            "dnn.convolution_forward, elementwise.map");
}

TEST(DnnGraph, ComputesAttentionFromItsParts) {
  const auto attention = computation::of(4, [](std::span<const node> x) {
    const node scores = matmul(x[0], transpose(x[1], {0, 1, 3, 2})) * 0.25 + x[3];
    return matmul(softmax(scores), x[2]);
  });
  for (const dtype type : float_types) {
    for (int i = 0; i < 4; ++i) {
      scene s;
      auto& q = drawn_tensor(s, type, {2, 3, 9, 16});
      auto& k = drawn_tensor(s, type, {2, i % 2 == 0 ? 3 : 1, 11, 16});
      auto& v = drawn_tensor(s, type, {2, i % 2 == 0 ? 3 : 1, 11, 8});
      auto& mask = drawn_tensor(s, type, {9, 11});
      auto& o = drawn_tensor(s, type, {2, 3, 9, 8});
      if (!check(s, attention, {&q, &k, &v, &mask}, {&o})) return;
    }
  }
}

TEST(DnnGraph, ConvolvesScalesAndActivates) {
  for (const dtype type : float_types) {
    for (const graph_engine engine : engines) {
      for (int variant = 0; variant < 5; ++variant) {
        const auto what = computation::of(4, [&](std::span<const node> x) {
          const convolution_options options{
              .stride = variant == 1 ? numbers{2, 1} : numbers{},
              .dilation = variant == 2 ? numbers{2} : numbers{},
              .padding = {1},
              .post_padding = variant == 3 ? numbers{2, 0} : numbers{},
              .groups = variant == 4 ? 2 : 1};
          return relu(convolution(x[0], x[1], options) * x[2] + x[3]);
        });
        scene s;
        auto& x = s.tensor(type, {2, 8, 7, 9}, {504, 1, 72, 8});
        const std::int64_t channels = variant == 4 ? 4 : 8;
        auto& w = s.tensor(type, {16, channels, 3, 3}, {9 * channels, 1, 3 * channels, channels});
        auto& scale = s.tensor(type, {16, 1, 1}, {1, 1, 1});
        auto& shift = s.tensor(type, {1, 16, 1, 1}, {16, 1, 1, 1});
        const numbers out = variant == 1   ? numbers{2, 16, 4, 9}
                            : variant == 2 ? numbers{2, 16, 5, 7}
                            : variant == 3 ? numbers{2, 16, 8, 8}
                                           : numbers{2, 16, 7, 9};
        auto& y = s.tensor(type, out, {16 * out[2] * out[3], 1, 16 * out[3], 16});
        if (!check(s, what, {&x, &w, &scale, &shift}, {&y}, {.engine = engine})) return;
      }
    }
  }
}

// All rows begin at multiples of 16 bytes, so that the order alone may keep a plan from them.
TEST(DnnGraph, ConvolvesImagesWithTheChannelsFirst) {
  const auto what = computation::of(3, [](std::span<const node> x) {
    return relu(convolution(x[0], x[1], {.stride = {1, 2}, .padding = {1, 3}}) + x[2]);
  });
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    for (const graph_engine engine : engines) {
      scene s;
      s.keep_layouts();
      auto& x = s.tensor(type, {2, 8, 6, 16}, {768, 96, 16, 1});
      auto& w = s.tensor(type, {16, 8, 3, 8}, {192, 24, 8, 1});
      auto& shift = s.tensor(type, {16, 1, 1}, {1, 1, 1});
      auto& y = s.tensor(type, {2, 16, 6, 8}, {768, 48, 8, 1});
      if (!check(s, what, {&x, &w, &shift}, {&y}, {.engine = engine})) return;
    }
  }
}

/// A random epilogue of a product, among all that a plan may have.
node next_of(std::mt19937_64& random, const node& y, std::span<const node> x) {
  const node& other = x[2 + random() % 3];  // along rows, along columns, of all elements
  switch (random() % 14) {
    case 0:
      return y + other;
    case 1:
      return other - y;
    case 2:
      return y * other;
    case 3:
      return y / (abs(other) + 1);
    case 4:
      return min(y, other);
    case 5:
      return max(y, 0.1);
    case 6:
      return exp(-abs(y));
    case 7:
      return log(abs(y) + 1);
    case 8:
      return sqrt(abs(y) + 0.5);
    case 9:
      return rsqrt(abs(y) + 0.5);
    case 10:
      return erf(y) - 0.25;
    case 11:
      return sin(y) * other;
    case 12:
      return tanh(y);
    default:
      return sigmoid(y) + softplus(y);
  }
}

TEST(DnnGraph, ByPlansAgreesWithItsNodes) {
  std::mt19937_64 random(test_seed());
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32}) {
    for (int i = 0; i < 10; ++i) {
      const auto what = computation::of(5, [&](std::span<const node> x) {
        const node sums = matmul(x[0], x[1]);
        node y = sums;
        for (std::size_t steps = 1 + random() % 4; steps > 0; --steps)
          y = next_of(random, y, x);
        return random() % 3 == 0 ? std::vector<node>{y, sums} : std::vector<node>{y};
      });
      scene s;
      auto& a = s.tensor(type, {3, 17, 32}, {544, 32, 1});
      auto& b = i % 2 == 0 ? s.tensor(type, {32, 24}, {1, 32})
                           : s.tensor(type, {3, 32, 24}, {768, 24, 1});
      auto& along_rows = s.tensor(type, {24}, {1});
      auto& along_columns = s.tensor(dtype::f32, {17, 1}, {1, 1});
      auto& whole = s.tensor(type, {3, 17, 24}, {408, 24, 1});
      std::vector<test_tensor*> outputs;
      outputs.reserve(static_cast<std::size_t>(what.outputs()));
      for (int o = 0; o < what.outputs(); ++o)
        outputs.push_back(&s.tensor(o == 0 ? type : dtype::f32, {3, 17, 24}, {408, 24, 1}));
      const dnn::graph options{.math = dnn::math_mode::strict,
                               .engine = graph_engine::plan,
                               .tuning = i % 4 == 0 ? dnn::tuning::timed : dnn::tuning::heuristic};
      if (!check(s, what, {&a, &b, &along_rows, &along_columns, &whole}, outputs, options)) return;
    }
  }
}

// A GPU has pieces and a plan of this one, which take turns until it is known which is faster.
TEST(DnnGraph, IsTheSameWhicheverWayIsTimed) {
  const computation layer = layer_of(&gelu_tanh, true);
  for (int turn = 0; turn < 16; ++turn) {
    scene s;
    s.keep_layouts();  // another layout has a plan and turns of its own
    auto& x = s.tensor(dtype::f16, {64, 32}, {32, 1});
    auto& w = s.tensor(dtype::f16, {32, 48}, {48, 1});
    auto& b = s.tensor(dtype::f16, {48}, {1});
    auto& r = s.tensor(dtype::f16, {64, 48}, {48, 1});
    auto& y = s.tensor(dtype::f16, {64, 48}, {48, 1});
    const graph_engine engine = turn == 0 ? graph_engine::plan : graph_engine::automatic;
    if (!check(s, layer, {&x, &w, &b, &r}, {&y}, {.engine = engine})) return;
  }
}

TEST(DnnGraph, GivesSeveralOutputsOfWhateverTypes) {
  const auto what = computation::of(3, [](std::span<const node> x) {
    const node h = matmul(x[0], x[1]);
    const node centered = h - mean(h, {-1});
    const node y = centered * rsqrt(mean(square(centered), {-1}) + 0.01) + x[2];
    return std::vector<node>{y, mean(h, {-1}), h, transpose(y, {1, 0}), x[2], node(3)};
  });
  for (const dtype type : float_types) {
    for (const dtype to : float_types) {
      scene s;
      auto& x = drawn_tensor(s, type, {13, 24});
      auto& w = drawn_tensor(s, type, {24, 10});
      auto& b = drawn_tensor(s, type, {10});
      std::vector<test_tensor*> outputs;
      for (const numbers& extents : {numbers{13, 10}, numbers{13, 1}, numbers{13, 10},
                                     numbers{10, 13}, numbers{10}, numbers{}})
        outputs.push_back(&drawn_tensor(s, outputs.size() == 1 ? dtype::f32 : to, extents));
      if (!check(s, what, {&x, &w, &b}, outputs)) return;
    }
  }
}

TEST(DnnGraph, BroadcastsProducts) {
  const auto what =
      computation::of(2, [](std::span<const node> x) { return matmul(x[0], x[1]) - 1; });
  for (const dtype type : {dtype::f32, dtype::f16}) {
    for (const auto& [a, b, y] : {std::array<numbers, 3>{numbers{4, 5}, {5, 6}, {4, 6}},
                                  {numbers{3, 4, 5}, {5, 6}, {3, 4, 6}},
                                  {numbers{4, 5}, {2, 5, 6}, {2, 4, 6}},
                                  {numbers{3, 1, 4, 5}, {2, 5, 6}, {3, 2, 4, 6}},
                                  {numbers{3, 2, 4, 5}, {3, 1, 5, 6}, {3, 2, 4, 6}},
                                  {numbers{3, 0, 5}, {5, 6}, {3, 0, 6}},
                                  {numbers{3, 4, 0}, {0, 6}, {3, 4, 6}},
                                  {numbers{1, 1}, {1, 1}, {1, 1}},
                                  {numbers{9, 1, 1, 2}, {1, 9, 2, 1}, {9, 9, 1, 1}}}) {
      for (int i = 0; i < 4; ++i) {
        scene s;
        auto& left = drawn_tensor(s, type, a);
        auto& right = drawn_tensor(s, type, b);
        auto& result = drawn_tensor(s, type, y);
        if (!check(s, what, {&left, &right}, {&result})) return;
      }
    }
  }
}

TEST(DnnGraph, TakesMasksAndIntegers) {
  const auto what = computation::of(3, [](std::span<const node> x) {
    const node kept = select(x[1], x[0], 0);
    return std::vector<node>{kept + x[2], x[0] < 0.25};
  });
  scene s;
  auto& x = s.tensor(dtype::f32, {6, 7}, {7, 1});
  auto& mask = s.tensor(dtype::boolean, {6, 7}, {7, 1});
  auto& offset = s.tensor(dtype::i32, {7}, {1});
  auto& y = s.tensor(dtype::f32, {6, 7}, {7, 1});
  auto& smaller = s.tensor(dtype::boolean, {6, 7}, {7, 1});
  check(s, what, {&x, &mask, &offset}, {&y, &smaller});
}

TEST(DnnGraph, IsShownAsItIsWritten) {
  EXPECT_EQ(layer_of(&gelu, true).to_string(), "y0 = gelu(matmul(x0, x1) + x2) + x3");
  const auto shared = computation::of(2, [](std::span<const node> x) {
    const node h = convolution(x[0], x[1], {.stride = {2}, .padding = {1, 2}, .groups = 3});
    return std::vector<node>{h * 2, transpose(layer_norm(h, 0.5, 2), {1, 0, 2, 3})};
  });
  EXPECT_EQ(shared.to_string(),
            "t0 = convolution(x0, x1, stride=[2], padding=[1, 2], groups=3); y0 = t0 * 2; y1 = "
            "transpose(layer_norm(t0, eps=0.5, dimensions=2), [1, 0, 2, 3])");
  EXPECT_EQ(
      computation::of(1, [](std::span<const node> x) { return sum(cast(x[0], dtype::f32), {-1}); })
          .to_string(),
      "y0 = sum(f32(x0), [-1])");
}

}  // namespace
}  // namespace troupe::conformance
