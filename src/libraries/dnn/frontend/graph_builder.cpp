// The only source that includes cuDNN's frontend, which takes most of a minute and 2 GB to compile.
#include "libraries/dnn/cuda/plan/graph_builder.hpp"

#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace troupe::cuda::graphs {
namespace {

namespace fe = cudnn_frontend;
using json = nlohmann::json;
using graph_ref = std::shared_ptr<fe::graph::Graph>;
using tensor_ref = std::shared_ptr<fe::graph::Tensor_attributes>;

fe::DataType_t type_of(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
      return fe::DataType_t::DOUBLE;
    case dtype::f32:
      return fe::DataType_t::FLOAT;
    case dtype::f16:
      return fe::DataType_t::HALF;
    case dtype::bf16:
      return fe::DataType_t::BFLOAT16;
    case dtype::e4m3:
      return fe::DataType_t::FP8_E4M3;
    case dtype::e5m2:
      return fe::DataType_t::FP8_E5M2;
    case dtype::i8:
      return fe::DataType_t::INT8;
    case dtype::u8:
      return fe::DataType_t::UINT8;
    case dtype::i32:
      return fe::DataType_t::INT32;
    case dtype::i64:
      return fe::DataType_t::INT64;
    case dtype::boolean:
      return fe::DataType_t::BOOLEAN;
    case dtype::c64:
    case dtype::c128:
    case dtype::i16:
    case dtype::u16:
    case dtype::u32:
    case dtype::u64:
      break;
  }
  return fe::DataType_t::NOT_SET;
}

fe::PointwiseMode_t mode_of(pointwise::kind what) noexcept {
  using enum pointwise::kind;
  switch (what) {
    case add:
      return fe::PointwiseMode_t::ADD;
    case multiply:
      return fe::PointwiseMode_t::MUL;
    case relu:
      return fe::PointwiseMode_t::RELU_FWD;
    case elu:
      return fe::PointwiseMode_t::ELU_FWD;
    case gelu:
      return fe::PointwiseMode_t::GELU_FWD;
    case gelu_tanh:
      return fe::PointwiseMode_t::GELU_APPROX_TANH_FWD;
    case silu:
      return fe::PointwiseMode_t::SWISH_FWD;
    case sigmoid:
      return fe::PointwiseMode_t::SIGMOID_FWD;
    case tanh:
      return fe::PointwiseMode_t::TANH_FWD;
    case softplus:
      return fe::PointwiseMode_t::SOFTPLUS_FWD;
    case identity:
      return fe::PointwiseMode_t::IDENTITY;
    case subtract:
      return fe::PointwiseMode_t::SUB;
    case divide:
      return fe::PointwiseMode_t::DIV;
    case minimum:
      return fe::PointwiseMode_t::MIN;
    case maximum:
      return fe::PointwiseMode_t::MAX;
    case negative:
      return fe::PointwiseMode_t::NEG;
    case absolute:
      return fe::PointwiseMode_t::ABS;
    case exp:
      return fe::PointwiseMode_t::EXP;
    case log:
      return fe::PointwiseMode_t::LOG;
    case sqrt:
      return fe::PointwiseMode_t::SQRT;
    case rsqrt:
      return fe::PointwiseMode_t::RSQRT;
    case erf:
      return fe::PointwiseMode_t::ERF;
    case sin:
      return fe::PointwiseMode_t::SIN;
    case cos:
      return fe::PointwiseMode_t::COS;
  }
  return fe::PointwiseMode_t::NOT_SET;
}

/// Translates a description node by node.
class translation {
 public:
  explicit translation(const description& what) : what_(what), tensors_(what.tensors.size()) {
    graph_->set_intermediate_data_type(type_of(what.intermediate))
        .set_compute_data_type(type_of(what.compute));
  }

  graph_ref translate() {
    for (const node& one : what_.nodes)
      std::visit([this](const auto& n) { add(n); }, one);
    return graph_;
  }

 private:
  /// An input; null for none.
  tensor_ref input(place at) {
    if (at < 0) return nullptr;
    tensor_ref& made = tensors_[static_cast<std::size_t>(at)];
    if (made) return made;
    const tensor& t = what_.tensors[static_cast<std::size_t>(at)];
    fe::graph::Tensor_attributes given;
    given.set_uid(t.operand)
        .set_name(fmt::format("t{}", t.operand))
        .set_dim(t.extents)
        .set_stride(t.strides)
        .set_alignment(t.alignment)
        .set_data_type(type_of(t.type));
    if (t.by_value) given.set_is_pass_by_value(true);
    if (t.ragged_offset >= 0) given.set_ragged_offset(input(t.ragged_offset));
    return made = graph_->tensor(given);
  }

  /// A result, which is kept in memory if it is an operand.
  void output(place at, const tensor_ref& made) {
    if (at < 0 || !made) return;
    const tensor& t = what_.tensors[static_cast<std::size_t>(at)];
    tensors_[static_cast<std::size_t>(at)] = made;
    made->set_dim(t.extents).set_stride(t.strides);
    if (t.operand == 0) return;
    made->set_output(true)
        .set_uid(t.operand)
        .set_alignment(t.alignment)
        .set_data_type(type_of(t.type));
    if (t.ragged_offset >= 0) made->set_ragged_offset(input(t.ragged_offset));
  }

  template <class Attributes>
  Attributes spaced(const convolution& c) {
    Attributes a;
    a.set_pre_padding(c.before).set_post_padding(c.after).set_stride(c.stride).set_dilation(
        c.dilation);
    return a;
  }

  void add(const convolution& c) {
    const tensor_ref first = input(c.first);
    const tensor_ref second = input(c.second);
    switch (c.what) {
      case convolution::kind::forward:
        return output(c.result, graph_->conv_fprop(first, second,
                                                   spaced<fe::graph::Conv_fprop_attributes>(c)));
      case convolution::kind::backward_data:
        return output(c.result, graph_->conv_dgrad(first, second,
                                                   spaced<fe::graph::Conv_dgrad_attributes>(c)));
      case convolution::kind::backward_filter:
        return output(c.result, graph_->conv_wgrad(first, second,
                                                   spaced<fe::graph::Conv_wgrad_attributes>(c)));
    }
  }

  void add(const matmul& m) {
    output(m.result,
           graph_->matmul(input(m.first), input(m.second), fe::graph::Matmul_attributes()));
  }

  void add(const pointwise& p) {
    fe::graph::Pointwise_attributes a;
    a.set_mode(mode_of(p.what));
    if (p.upper) a.set_relu_upper_clip(*p.upper);
    if (p.slope) a.set_relu_lower_clip_slope(*p.slope);
    if (p.elu_alpha) a.set_elu_alpha(*p.elu_alpha);
    const tensor_ref first = input(p.first);
    output(p.result, p.second < 0 ? graph_->pointwise(first, a)
                                  : graph_->pointwise(first, input(p.second), a));
  }

  template <class Attributes>
  void mask(Attributes& a, const attention& t) {
    a.set_attn_scale(t.scale);
    if (t.q_lengths >= 0) {
      a.set_padding_mask(true)
          .set_seq_len_q(input(t.q_lengths))
          .set_seq_len_kv(input(t.kv_lengths));
    }
    if (t.bottom_right) {
      a.set_diagonal_alignment(fe::DiagonalAlignment_t::BOTTOM_RIGHT);
    } else {
      a.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT);
    }
    if (t.right >= 0) a.set_diagonal_band_right_bound(static_cast<int>(t.right));
    // The frontend counts the diagonal's key.
    if (t.left >= 0) a.set_diagonal_band_left_bound(static_cast<int>(t.left) + 1);
  }

  fe::graph::SDPA_attributes forward_options(const attention& t) {
    fe::graph::SDPA_attributes a;
    a.set_name("attention").set_generate_stats(t.stats >= 0);
    mask(a, t);
    if (t.bias >= 0) a.set_bias(input(t.bias));
    if (t.alibi) a.set_alibi_mask(true);
    if (t.dropout > 0) a.set_dropout(t.dropout, input(t.seed), input(t.offset));
    if (t.k_pages >= 0) {
      a.set_paged_attention_k_table(input(t.k_pages))
          .set_paged_attention_v_table(input(t.v_pages))
          .set_paged_attention_max_seq_len_kv(static_cast<int>(t.most_kv));
    }
    return a;
  }

  void add(const attention& t) {
    if (t.backward) return add_backward(t);
    if (t.fp8) return add_fp8(t);
    const fe::graph::SDPA_attributes a = forward_options(t);
    auto [o, stats] = graph_->sdpa(input(t.q), input(t.k), input(t.v), a);
    output(t.o, o);
    output(t.stats, stats);
  }

  void add_backward(const attention& t) {
    fe::graph::SDPA_backward_attributes a;
    a.set_name("attention_backward").set_deterministic_algorithm(what_.deterministic);
    mask(a, t);
    if (t.bias >= 0) a.set_bias(input(t.bias));
    if (t.dbias >= 0) {
      const tensor_ref dbias = input(t.dbias);
      dbias->set_output(true);
      a.set_dbias(dbias);
    }
    if (t.alibi) a.set_alibi_mask(true);
    if (t.dropout > 0) a.set_dropout(t.dropout, input(t.seed), input(t.offset));
    if (t.most_q_rows > 0) a.set_max_total_seq_len_q(t.most_q_rows);
    if (t.most_kv_rows > 0) a.set_max_total_seq_len_kv(t.most_kv_rows);
    auto [dq, dk, dv] = graph_->sdpa_backward(input(t.q), input(t.k), input(t.v), input(t.o),
                                              input(t.d_o), input(t.stats), a);
    output(t.dq, dq);
    output(t.dk, dk);
    output(t.dv, dv);
  }

  void add_fp8(const attention& t) {
    auto [o, stats, amax_s, amax_o] =
        graph_->sdpa_fp8(input(t.q), input(t.k), input(t.v), input(t.descale_q), input(t.descale_k),
                         input(t.descale_v), input(t.descale_s), input(t.scale_s), input(t.scale_o),
                         forward_options(t));
    output(t.o, o);
    output(t.stats, stats);
    output(t.amax_s, amax_s);
    output(t.amax_o, amax_o);
  }

  const description& what_;
  graph_ref graph_ = std::make_shared<fe::graph::Graph>();
  std::vector<tensor_ref> tensors_;
};

// cuDNN tells of each engine in several lines, of which the first reason says the most. In one
// line.
std::string shortened(const std::string& message) {
  constexpr std::string_view mark = "Reason: ";
  constexpr std::size_t most_reasons = 3;
  std::string text = message.substr(0, message.find('\n'));
  std::vector<std::string> reasons;
  for (std::size_t engine = message.find("engineId"); engine != std::string::npos;
       engine = message.find("engineId", engine + 1)) {
    const std::size_t at = message.find(mark, engine);
    if (at == std::string::npos) break;
    const std::size_t begin = at + mark.size();
    std::string reason = message.substr(begin, message.find('\n', begin) - begin);
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
  }
  for (std::size_t i = 0; i < reasons.size() && i < most_reasons; ++i)
    text += "; " + reasons[i];
  return text;
}

// The frontend gives its own code, and no status of cuDNN's.
error refusal(fe::error_t why, std::string_view call) {
  const std::string message = why.get_message();
  const bool no_memory = message.find("ALLOC_FAILED") != std::string::npos ||
                         message.find("out of memory") != std::string::npos;
  return {.code = no_memory ? errc::out_of_memory : errc::unsupported,
          .message = shortened(message),
          .library = "cudnn",
          .call = std::string(call),
          .vendor_code = static_cast<std::int64_t>(why.get_code())};
}

std::uint64_t bits_of(const fe::graph::Tensor_attributes::pass_by_values_t& value) noexcept {
  std::uint64_t bits = 0;
  std::visit([&](const auto& number) { std::memcpy(&bits, &number, sizeof(number)); }, value);
  return bits;
}

// By the frontend's own serialisation, which is all that it tells.
result<plan_image> image_of(const fe::graph::Graph& graph) {
  std::vector<std::uint8_t> bytes;
  if (auto done = graph.serialize(bytes); done.is_bad()) return refusal(done, "serialize");
  const json all = json::from_ubjson(bytes);
  if (!all.contains("cudnn_backend_data")) {
    return error{.code = errc::unsupported,
                 .message = "cuDNN gives no bytes of this plan",
                 .library = "cudnn",
                 .call = "serialize"};
  }
  using uid_t = std::int64_t;
  plan_image made;
  made.plan = all["cudnn_backend_data"].get<std::string>();
  made.frontend_workspace_bytes = all["fe_workspace_size"].get<std::int64_t>();
  (void)graph.get_plan_name(made.engine);
  const auto constants =
      all["pass_by_values"]
          .get<std::unordered_map<uid_t, fe::graph::Tensor_attributes::pass_by_values_t>>();
  const auto workspace =
      all["workspace_modifications"]
          .get<std::unordered_map<uid_t,
                                  std::tuple<std::int64_t, std::int64_t, std::vector<float>>>>();
  const auto replaced = all["variant_pack_replacements"]
                            .get<std::unordered_map<uid_t, std::pair<uid_t, std::int64_t>>>();
  for (const uid_t uid : all["variant_pack_uids"].get<std::vector<uid_t>>()) {
    plan_image::binding one{.uid = uid, .what = plan_image::binding::kind::operand, .operand = uid};
    if (const auto number = constants.find(uid); number != constants.end()) {
      one.what = plan_image::binding::kind::constant;
      one.constant = bits_of(number->second);
    } else if (const auto room = workspace.find(uid); room != workspace.end()) {
      one.what = plan_image::binding::kind::workspace;
      one.at = std::get<1>(room->second);
    } else {
      for (const auto& [from, to] : replaced) {
        if (to.first != uid) continue;
        one.operand = from;
        one.at = to.second;
      }
    }
    made.bindings.push_back(one);
  }
  std::ranges::sort(made.bindings, {}, &plan_image::binding::uid);
  for (const auto& [uid, room] : workspace) {
    const auto& [how, at, values] = room;
    if (how == 0) {
      made.presets.push_back({.at = at,
                              .bytes = static_cast<std::int64_t>(values.size() * sizeof(float)),
                              .values = values});
    } else if (how == 1) {
      made.presets.push_back(
          {.at = at, .bytes = static_cast<std::int64_t>(values.at(0)), .values = {}});
    }
  }
  return made;
}

result<std::vector<plan_image>> build_plans(cudnnHandle_t library, const description& what) {
  const graph_ref graph = translation(what).translate();
  if (auto done = graph->validate(); done.is_bad()) return refusal(done, "validate");
  if (auto done = graph->build_operation_graph(library); done.is_bad()) {
    return refusal(done, "build_operation_graph");
  }
  using enum fe::NumericalNote_t;
  std::vector<fe::NumericalNote_t> unwanted;
  if (what.deterministic) unwanted.push_back(NONDETERMINISTIC);
  if (what.full_precision) {
    unwanted.insert(unwanted.end(), {TENSOR_CORE, DOWN_CONVERT_INPUTS, REDUCED_PRECISION_REDUCTION,
                                     FFT, WINOGRAD_TILE_6x6, WINOGRAD_TILE_13x13});
  }
  std::vector<fe::HeurMode_t> modes{fe::HeurMode_t::FALLBACK};
  if (!what.without_heuristics) modes = {fe::HeurMode_t::A, fe::HeurMode_t::B, modes[0]};
  if (auto done = graph->create_execution_plans(modes); done.is_bad()) {
    return refusal(done, "create_execution_plans");
  }
  // It strikes out engines that have been proposed, so not before.
  if (!unwanted.empty()) graph->deselect_numeric_notes(unwanted);
  // It looks for these in names such as eng71 and eng71_k2=1; no engine has three digits.
  std::vector<std::string> barred;
  for (const std::int64_t engine : what.barred_engines)
    barred.push_back(fmt::format("eng{}", engine));
  graph->deselect_engines(barred);
  if (auto done = graph->check_support(library); done.is_bad()) {
    return refusal(done, "check_support");
  }
  std::vector<plan_image> made;
  if (what.timed <= 1) {
    if (auto done = graph->build_plans(library, fe::BuildPlanPolicy_t::HEURISTICS_CHOICE);
        done.is_bad()) {
      return refusal(done, "build_plans");
    }
    auto image = image_of(*graph);
    if (!image) return std::move(image).error();
    made.push_back(*std::move(image));
    return made;
  }
  const std::int64_t proposed = graph->get_execution_plan_count();
  fe::error_t last{fe::error_code_t::GRAPH_NOT_SUPPORTED, "no engine is proposed"};
  for (std::int64_t i = 0; i < proposed && std::ssize(made) < what.timed; ++i) {
    last = graph->build_plan_at_index(library, i);
    if (last.is_bad()) continue;
    auto image = image_of(*graph);
    if (image) made.push_back(*std::move(image));
  }
  if (made.empty()) return refusal(last, "build_plan_at_index");
  return made;
}

}  // namespace

result<std::vector<plan_image>> build(cudnnHandle_t library, const description& what) {
  try {
    return build_plans(library, what);
  } catch (const std::bad_alloc& none) {
    return error{.code = errc::out_of_memory, .message = none.what(), .library = "cudnn"};
  } catch (const std::exception& thrown) {
    return error{.code = errc::unsupported,
                 .message = thrown.what(),
                 .library = "cudnn",
                 .call = "cudnn_frontend"};
  }
}

int frontend_version() noexcept { return CUDNN_FRONTEND_VERSION; }

}  // namespace troupe::cuda::graphs
