#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"

#include <utility>

// Builds the graph for cuDNN.
namespace troupe::cuda {

using graphs::place;

// An operand in cuDNN's terms: always four dimensions.
graphs::tensor attention_case::tensor_of(std::size_t number) const {
  const any_tensor& t = operands_[number];
  graphs::tensor made{.operand = static_cast<std::int64_t>(number) + 1,
                      .type = t.type(),
                      .extents = {t.extents().begin(), t.extents().end()},
                      .strides = {t.strides().begin(), t.strides().end()}};
  if (is_staged(number)) {
    const shape extents = staged_extents(number);
    made.extents.assign(extents.extents().begin(), extents.extents().end());
    made.strides = packed_strides(made.extents);
  }
  switch (made.extents.size()) {
    case 1:  // lengths, offsets, factors: one for each batch entry
      made.extents = {made.extents[0], 1, 1, 1};
      made.strides = {1, 1, 1, 1};
      made.alignment = size_of(t.type());
      break;
    case 2:  // tables of pages
      made.extents = {made.extents[0], 1, made.extents[1], 1};
      made.strides = packed_strides(made.extents);
      made.alignment = size_of(t.type());
      break;
    case 3: {  // rows of all sequences one after the other: [t, h, d]
      const bool of_keys = number == k_at || number == v_at || number == d_k_at || number == d_v_at;
      const std::int64_t longest = of_keys ? sizes_.s_kv : sizes_.s_q;
      made.extents = {sizes_.batch, made.extents[1], longest, made.extents[2]};
      made.strides = {longest * made.strides[0], made.strides[1], made.strides[0], made.strides[2]};
      break;
    }
    default:
      break;
  }
  if (is_of_scores(number)) made.alignment = alignment_told(number);
  return made;
}

std::vector<graphs::description> attention_case::graphs() const {
  graphs::description made;
  made.deterministic = deterministic_;
  graphs::attention a{.backward = backward_,
                      .fp8 = fp8(),
                      .scale = static_cast<float>(scale_),
                      .dropout = static_cast<float>(dropout_),
                      .alibi = alibi_,
                      .bottom_right = diagonal_ == dnn::diagonal::bottom_right,
                      .left = left_,
                      .right = right_};
  const auto put = [&](graphs::tensor t) {
    made.tensors.push_back(std::move(t));
    return static_cast<place>(made.tensors.size()) - 1;
  };
  const auto add = [&](std::size_t number) {
    return operands_[number].null() ? -1 : put(tensor_of(number));
  };
  const auto one = [&](std::size_t number, dtype type, std::int64_t extent = 1) {
    return put({.operand = static_cast<std::int64_t>(number) + 1,
                .type = type,
                .extents = {extent, 1, 1, 1},
                .strides = {1, 1, 1, 1},
                .alignment = size_of(type)});
  };
  std::array<place, operand_count> offsets{};
  for (const std::size_t number : {offsets_q_at, offsets_k_at, offsets_v_at, offsets_o_at}) {
    offsets[number] =
        makes_offsets(number) ? one(number, dtype::i64, sizes_.batch + 1) : add(number);
  }
  const auto rows = [&](std::size_t number) {
    const place at = add(number);
    if (at >= 0)
      made.tensors[static_cast<std::size_t>(at)].ragged_offset = offsets[offsets_of(number)];
    return at;
  };
  a.q = rows(q_at);
  a.k = rows(k_at);
  a.v = rows(v_at);
  a.o = rows(o_at);
  a.stats = add(statistics_at);
  a.bias = add(bias_at);
  a.k_pages = add(table_k_at);
  a.v_pages = add(table_v_at);
  if (a.k_pages >= 0) a.most_kv = sizes_.s_kv;
  if (has_lengths()) {
    a.q_lengths = one(lengths_q_at, dtype::i32, sizes_.batch);
    a.kv_lengths = one(lengths_kv_at, dtype::i32, sizes_.batch);
  }
  if (dropout_ > 0) {
    a.seed = one(seed_at, dtype::i64);
    a.offset = one(offset_at, dtype::i64);
  }
  if (backward_) {
    a.d_o = rows(d_o_at);
    a.dq = rows(d_q_at);
    a.dk = rows(d_k_at);
    a.dv = rows(d_v_at);
    a.dbias = add(d_bias_at);
  }
  if (a.fp8) {
    a.descale_q = one(descale_q_at, dtype::f32);
    a.descale_k = one(descale_k_at, dtype::f32);
    a.descale_v = one(descale_v_at, dtype::f32);
    a.descale_s = one(descale_s_at, dtype::f32);
    a.scale_s = one(scale_s_at, dtype::f32);
    a.scale_o = one(scale_o_at, dtype::f32);
    a.amax_s = one(amax_s_at, dtype::f32);
    a.amax_o = one(amax_o_at, dtype::f32);
  }
  made.nodes.emplace_back(a);
  return {std::move(made)};
}

}  // namespace troupe::cuda
