#include "conformance/scene.hpp"

#include <troupe/dnn/rnn.hpp>

namespace troupe::conformance {
namespace {

using dnn::rnn_backward_data;
using dnn::rnn_backward_weights;
using dnn::rnn_forward;

struct stage {
  scene s;
  rnn_forward good;

  stage() {
    const auto f32 = [&](std::vector<std::int64_t> size) {
      std::vector<std::int64_t> strides(size.size(), 1);
      for (std::size_t d = size.size(); d-- > 1;)
        strides[d - 1] = strides[d] * size[d];
      return s.tensor(dtype::f32, size, strides).view;
    };
    good.network = {.hidden = 4, .layers = 2};
    good.x = f32({5, 3, 6});
    good.weights = f32({dnn::rnn_weight_count(good.network, 6)});
    good.h_0 = f32({2, 3, 4});
    good.c_0 = f32({2, 3, 4});
    good.y = f32({5, 3, 4});
    good.h_n = f32({2, 3, 4});
    good.c_n = f32({2, 3, 4});
  }
};

TEST(DnnRnnForward, RefusesWhatDoesNotGoTogether) {
  stage with;
  scene& s = with.s;
  auto r = with.good;
  r.network.hidden = 5;
  s.refuse(r, errc::shape_mismatch, "h_0 must have extent 5 in dimension 2, projection, or hidden");
  r = with.good;
  r.network.layers = 3;
  s.refuse(r, errc::shape_mismatch,
           "h_0 must have extent 3 in dimension 0, layers times directions");
  r = with.good;
  r.weights = s.vector(dtype::f32, 7).view;
  s.refuse(r, errc::shape_mismatch,
           "weights must have extent 352 in dimension 0, the number of the network's weights");
  r = with.good;
  r.y = s.tensor(dtype::f32, {5, 3, 8}, {24, 8, 1}).view;
  s.refuse(r, errc::shape_mismatch, "y must have extent 4 in dimension 2");
  r = with.good;
  r.lengths = {1, 2};
  s.refuse(r, errc::shape_mismatch,
           "lengths must be empty or have one for each of the 3 sequences; it has 2");
  r = with.good;
  r.lengths = {1, 2, 6};
  s.refuse(r, errc::invalid_argument, "lengths[2] must be from 0 to 5, the steps; it is 6");
  r.lengths = {1, -1, 5};
  s.refuse(r, errc::invalid_argument, "lengths[1] must be from 0 to 5, the steps; it is -1");
  r = with.good;
  r.x = s.tensor(dtype::f32, {5, 3, 6}, {30, 10, 1}).view;
  s.refuse(r, errc::layout_unsupported, "x must have no gaps, time first or batch first");
  r = with.good;
  r.x = s.tensor(dtype::f32, {5, 3, 6}, {6, 30, 1}).view;
  s.refuse(r, errc::layout_unsupported, "y and x must both lie time first, or both batch first");
  r = with.good;
  r.h_0 = s.tensor(dtype::f32, {2, 3, 4}, {4, 8, 1}).view;
  s.refuse(r, errc::layout_unsupported, "h_0");
  r = with.good;
  r.h_n = r.h_0;
  s.refuse(r, errc::aliasing);
  r = with.good;
  r.reserve = s.vector(dtype::f32, 8).view;
  s.refuse(r, errc::type_mismatch, "reserve");
  r = with.good;
  r.h_0 = s.tensor(dtype::f64, {2, 3, 4}, {12, 4, 1}).view;
  s.refuse(r, errc::type_mismatch);
}

TEST(DnnRnnForward, RefusesNumbersOutOfTheirRanges) {
  stage with;
  scene& s = with.s;
  auto r = with.good;
  r.network.hidden = 0;
  s.refuse(r, errc::invalid_argument, "hidden");
  r = with.good;
  r.network.layers = 1025;
  s.refuse(r, errc::invalid_argument, "layers");
  r = with.good;
  r.network.dropout = 1;
  s.refuse(r, errc::invalid_argument, "network.dropout must be less than 1; it is 1");
  r.network.dropout = 0.5;
  r.network.offset = std::int64_t{1} << 62;
  s.refuse(r, errc::size_overflow, "network.offset must leave room for 60 words");
  r = with.good;
  r.network.projection = 4;
  s.refuse(r, errc::invalid_argument,
           "network.projection must be less than network.hidden, 4; it is 4");
  r.network.projection = 2;
  r.network.cell = dnn::rnn_cell::gru;
  s.refuse(r, errc::invalid_argument,
           "network.projection must be 0 because network.cell is not lstm; it is 2");
  r = with.good;
  r.network.linear_before_reset = false;
  s.refuse(r, errc::invalid_argument,
           "network.linear_before_reset must be true because network.cell is not gru; it is false");
  r = with.good;
  r.network.cell = dnn::rnn_cell::tanh;
  s.refuse(r, errc::invalid_argument, "c_0 must not be given because network.cell is not lstm");
}

TEST(DnnRnnForward, RefusesAReserveThatIsTooSmallAndWritesNothing) {
  stage with;
  scene& s = with.s;
  auto r = with.good;
  const auto& reserve = s.vector(dtype::u8, 8);
  r.reserve = reserve.view;
  const auto answer = s.attempt(r);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::invalid_argument);
  EXPECT_NE(answer.error().message.find("bytes that rnn_sizes says; it has 8"), std::string::npos)
      << answer.error().message;
}

TEST(DnnRnnBackward, RefusesWhatDoesNotGoTogether) {
  stage with;
  scene& s = with.s;
  const auto& reserve = s.vector(dtype::u8, 1 << 16);
  const auto& other = s.tensor(dtype::f32, {5, 3, 4}, {12, 4, 1});
  const auto& dx = s.tensor(dtype::f32, {5, 3, 6}, {18, 6, 1});
  const rnn_backward_data good{.weights = with.good.weights,
                               .h_0 = with.good.h_0,
                               .c_0 = with.good.c_0,
                               .y = with.good.y,
                               .dy = other.view,
                               .dx = dx.view,
                               .reserve = reserve.view,
                               .network = with.good.network};
  auto r = good;
  r.dy = dx.view;
  s.refuse(r, errc::shape_mismatch, "dy");
  r = good;
  r.dx = s.tensor(dtype::f32, {5, 3, 7}, {21, 7, 1}).view;
  s.refuse(r, errc::shape_mismatch, "weights must have extent");
  r = good;
  r.dx = s.tensor(dtype::f32, {5, 3, 6}, {6, 30, 1}).view;
  s.refuse(r, errc::layout_unsupported, "dx and y must both lie time first");
  r = good;
  r.network.cell = dnn::rnn_cell::relu;
  r.c_0 = any_tensor();
  r.dc_0 = with.good.c_n;
  s.refuse(r, errc::invalid_argument, "dc_0 must not be given because network.cell is not lstm");
  rnn_backward_weights w{.x = with.good.x,
                         .h_0 = with.good.h_0,
                         .y = with.good.y,
                         .reserve = reserve.view,
                         .dweights = s.vector(dtype::f32, 351).view,
                         .network = with.good.network};
  s.refuse(w, errc::shape_mismatch, "dweights must have extent 352 in dimension 0");
}

TEST(DnnRnnSizes, RefusesTypesThatNetworksDoNotHave) {
  scene s;
  s.refuse(dnn::rnn_sizes{.network = {.hidden = 4}, .type = dtype::i32}, errc::type_mismatch,
           "type must be f64, f32, f16 or bf16; it is i32");
  s.refuse(
      dnn::rnn_sizes{
          .network = {.hidden = 1 << 24, .layers = 1024}, .steps = 1 << 30, .batch = 1 << 30},
      errc::size_overflow);
}

}  // namespace
}  // namespace troupe::conformance
