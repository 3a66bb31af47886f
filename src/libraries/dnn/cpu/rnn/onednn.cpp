#include "libraries/dnn/cpu/rnn/onednn.hpp"

#include "libraries/memory/shared/share_out.hpp"

#include <omp.h>

#include <limits>
#include <utility>

namespace troupe::cpu::rnn {
namespace {

using desc = dnnl::memory::desc;
using tag = dnnl::memory::format_tag;

using plan_key = number_key<6>;

onednn_plans<plan_key>& the_plans() {
  // Never destroyed: a lane's thread may still hold a plan when the program's statics end.
  static onednn_plans<plan_key>& one = *new onednn_plans<plan_key>;
  return one;
}

desc numbers(const dnnl::memory::dims& extents, tag order) {
  return {extents, dnnl::memory::data_type::f32, order};
}

/// The descriptors of a plan for one layer and direction.
struct layer_descs {
  desc input, input_weights, hidden_weights, bias, state, result;

  layer_descs(const dnn::rnn_shape& s, std::int64_t layer)
      : input(numbers({s.steps, s.batch, s.input_of(layer)}, tag::tnc)),
        input_weights(numbers({1, 1, s.input_of(layer), s.gates(), s.hidden}, tag::ldgoi)),
        hidden_weights(numbers({1, 1, s.hidden, s.gates(), s.hidden}, tag::ldgoi)),
        bias(numbers({1, 1, s.cell == dnn::rnn_cell::gru ? 4 : s.gates(), s.hidden}, tag::ldgo)),
        state(numbers({1, 1, s.batch, s.hidden}, tag::ldnc)),
        result(numbers({s.steps, s.batch, s.hidden}, tag::tnc)) {}
};
desc in_any_order(const desc& of) { return numbers(of.dims(), tag::any); }

// Its threads meet after each step.
int threads_of(const dnn::rnn_shape& s) noexcept {
  constexpr std::int64_t products_per_thread = std::int64_t{1} << 20;
  const std::int64_t products = s.batch * s.gates() * s.hidden * s.hidden;
  return static_cast<int>(
      threads_for(std::numeric_limits<std::int64_t>::max(), products, products_per_thread));
}

template <class Primitive, class Pd>
onednn_plan finished(const layer_descs& d, const Pd& pd, bool lstm, int threads) {
  onednn_plan plan;
  plan.describe(input_place, d.input);
  plan.describe(input_weights_place, d.input_weights);
  plan.describe(hidden_weights_place, d.hidden_weights);
  plan.describe(bias_place, d.bias);
  plan.describe(first_h_place, d.state);
  plan.describe(result_place, d.result);
  std::vector<std::pair<int, onednn_plan::place>> arguments{
      {DNNL_ARG_SRC_LAYER, input_place},
      {DNNL_ARG_SRC_ITER, first_h_place},
      {DNNL_ARG_WEIGHTS_LAYER, plan.moved(input_weights_place, pd.weights_layer_desc())},
      {DNNL_ARG_WEIGHTS_ITER, plan.moved(hidden_weights_place, pd.weights_iter_desc())},
      {DNNL_ARG_BIAS, bias_place},
      {DNNL_ARG_DST_LAYER, result_place},
      {DNNL_ARG_SCRATCHPAD, plan.workspace(pd.scratchpad_desc())}};
  if (lstm) {
    plan.describe(first_c_place, d.state);
    plan.describe(last_c_place, d.state);
    arguments.emplace_back(DNNL_ARG_SRC_ITER_C, first_c_place);
    arguments.emplace_back(DNNL_ARG_DST_ITER, plan.workspace(d.state));
    arguments.emplace_back(DNNL_ARG_DST_ITER_C, last_c_place);
  }
  plan.add(Primitive(pd), std::move(arguments));
  plan.set_threads(threads);
  return plan;
}

std::shared_ptr<const onednn_plan> make(const dnn::rnn_shape& s, std::int64_t layer,
                                        bool backwards) {
  const layer_descs d(s, layer);
  const auto way = backwards ? dnnl::rnn_direction::unidirectional_right2left
                             : dnnl::rnn_direction::unidirectional_left2right;
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto attributes = onednn_plan::with_own_scratchpad();
  const desc w_x = in_any_order(d.input_weights);
  const desc w_h = in_any_order(d.hidden_weights);
  const int threads = threads_of(s);
  omp_set_num_threads(threads);  // primitives are made for the number that they will run on
  try {
    if (s.cell == dnn::rnn_cell::lstm) {
      const dnnl::lstm_forward::desc what(kind, way, d.input, d.state, d.state, w_x, w_h, d.bias,
                                          d.result, d.state, d.state);
      const dnnl::lstm_forward::primitive_desc pd(what, attributes, onednn_plan::engine());
      return std::make_shared<const onednn_plan>(
          finished<dnnl::lstm_forward>(d, pd, true, threads));
    }
    const dnnl::lbr_gru_forward::desc what(kind, way, d.input, d.state, w_x, w_h, d.bias, d.result,
                                           desc());
    const dnnl::lbr_gru_forward::primitive_desc pd(what, attributes, onednn_plan::engine());
    return std::make_shared<const onednn_plan>(
        finished<dnnl::lbr_gru_forward>(d, pd, false, threads));
  } catch (const dnnl::error&) {
    return nullptr;  // something that it does not do; our loops do everything
  }
}

}  // namespace

bool is_faster_by_onednn(const dnn::rnn_shape& s) noexcept {
  const bool has_cell = s.cell == dnn::rnn_cell::lstm || s.cell == dnn::rnn_cell::gru;
  // One sequence alone reads its weights once for each step: nothing is gained by moving them
  // first. Its gru whose reset gate comes first took longer than our loops.
  return has_cell && !s.projects && !s.resets_first && s.batch > 1;
}

std::shared_ptr<const onednn_plan> onednn_layer(const dnn::rnn_shape& s, std::int64_t layer,
                                                bool backwards) {
  plan_key key;
  for (const std::int64_t number : {static_cast<std::int64_t>(s.cell), s.steps, s.batch,
                                    s.input_of(layer), s.hidden, std::int64_t{backwards}})
    key.add(number);
  return the_plans().find(key, [&] { return make(s, layer, backwards); });
}

}  // namespace troupe::cpu::rnn
