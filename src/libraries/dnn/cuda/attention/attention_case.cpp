#include "libraries/dnn/cuda/attention/attention_case.hpp"

#include "libraries/dnn/cuda/plan/layout.hpp"
#include "libraries/dnn/requests/attention_limits.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe::cuda {
namespace {

using graphs::place;

constexpr std::int64_t row_unit = 8;  // elements that cuDNN wants rows to be multiples of

bool is_aligned(const any_tensor& t) noexcept {
  if (alignment_of(t) != well_aligned || t.stride(t.rank() - 1) != 1) return false;
  for (int d = 0; d + 1 < t.rank(); ++d) {
    if (t.extent(d) > 1 && t.stride(d) * size_of(t.type()) % well_aligned != 0) return false;
  }
  return true;
}

// What lies in rows of scores or statistics may begin anywhere.
bool is_of_scores(std::size_t number) noexcept {
  using enum attention_case::operand_number;
  return number == statistics_at || number == bias_at || number == d_bias_at;
}

std::size_t twin_of(std::size_t number) noexcept {
  using enum attention_case::operand_number;
  switch (number) {
    case q_at:
      return d_q_at;
    case k_at:
      return d_k_at;
    case v_at:
      return d_v_at;
    case o_at:
      return d_o_at;
    case d_q_at:
      return q_at;
    case d_k_at:
      return k_at;
    case d_v_at:
      return v_at;
    default:
      return o_at;
  }
}

std::int64_t rounded_up(std::int64_t extent) noexcept {
  return (extent + row_unit - 1) / row_unit * row_unit;
}

}  // namespace

template <class R>
void attention_case::take(const R& r) {
  operands_[q_at] = r.q;
  operands_[k_at] = r.k;
  operands_[v_at] = r.v;
  operands_[o_at] = r.o;
  operands_[statistics_at] = r.statistics;
  operands_[bias_at] = r.bias;
  operands_[lengths_q_at] = r.lengths_q;
  operands_[lengths_kv_at] = r.lengths_kv;
  operands_[offsets_q_at] = r.offsets_q;
  operands_[offsets_k_at] = r.offsets_k;
  operands_[offsets_v_at] = r.offsets_v;
  operands_[offsets_o_at] = r.offsets_o;
  sizes_ = dnn::sizes_of(r);
  scale_ = dnn::scale_of(r);
  dropout_ = r.dropout;
  seed_ = r.seed;
  offset_ = r.offset;
  diagonal_ = r.diagonal;
  left_ = r.left;
  right_ = r.right;
  alibi_ = r.alibi;
  if (auto capability = compute_capability()) {
    within_limits_ = dnn::within_limits(dnn::facts_of(r, *capability));
  } else {
    within_limits_ = std::move(capability).error();
  }
  empty_ = sizes_.scores() == 0 || sizes_.d == 0 || sizes_.d_v == 0 || !within_limits_;
}

attention_case::attention_case(const dnn::attention_forward& r) : all_attend_(r.all_attend) {
  take(r);
  operands_[table_k_at] = r.table_k;
  operands_[table_v_at] = r.table_v;
  operands_[descale_q_at] = r.descale_q;
  operands_[descale_k_at] = r.descale_k;
  operands_[descale_v_at] = r.descale_v;
  operands_[descale_s_at] = r.descale_s;
  operands_[scale_s_at] = r.scale_s;
  operands_[scale_o_at] = r.scale_o;
  operands_[amax_s_at] = r.amax_s;
  operands_[amax_o_at] = r.amax_o;
}

attention_case::attention_case(const dnn::attention_backward& r)
    : backward_(true), deterministic_(r.deterministic) {
  take(r);
  operands_[d_o_at] = r.d_o;
  operands_[d_q_at] = r.d_q;
  operands_[d_k_at] = r.d_k;
  operands_[d_v_at] = r.d_v;
  operands_[d_bias_at] = r.d_bias;
}

// True where cuDNN can take it as it is.
bool attention_case::lies_well(std::size_t number) const noexcept {
  const any_tensor& t = operands_[number];
  if (t.null() || number == amax_s_at || number == amax_o_at) return true;
  // Of packed queries cuDNN wrote them as if their batches had no gaps.
  if (number == statistics_at) return t.packed() && !patches_statistics();
  if (fills_lengths(number)) return false;
  if (number >= lengths_q_at && number <= table_v_at) return t.packed();
  if (number == bias_at || number == d_bias_at) {
    // Of one score for each head cuDNN read as if heads had no gaps.
    if (t.extent(2) == 1 && t.extent(3) == 1) return t.packed();
    return t.stride(3) == 1 || t.extent(3) == 1;
  }
  if (!has_rows(number)) return true;
  return t.extent(t.rank() - 1) % row_unit == 0 && is_aligned(t);
}

bool attention_case::is_staged(std::size_t number) const noexcept {
  if (!lies_well(number)) return true;
  if (!backward_ || !has_rows(number) || !makes_offsets(offsets_of(number))) return false;
  // An operand and its gradient are found by the same offsets.
  const std::size_t other = twin_of(number);
  return !lies_well(other) || operands_[number].stride(0) != operands_[other].stride(0);
}

std::size_t attention_case::offsets_of(std::size_t number) noexcept {
  switch (number) {
    case q_at:
    case d_q_at:
      return offsets_q_at;
    case k_at:
    case d_k_at:
      return offsets_k_at;
    case v_at:
    case d_v_at:
      return offsets_v_at;
    default:
      return offsets_o_at;
  }
}

// Sequences with lengths are told to cuDNN as packed ones, whether they are or not: with 9.14 what
// lies beyond the lengths of others came into results. Pages are not affected.
bool attention_case::makes_offsets(std::size_t number) const noexcept {
  const bool packed_q = !operands_[offsets_q_at].null();
  const bool packed_k = !operands_[offsets_k_at].null();
  const bool paged = !operands_[table_k_at].null();
  if (!has_lengths() || (paged && !packed_q)) return false;
  if (number == offsets_q_at || number == offsets_o_at) return !packed_q;
  if (number == offsets_k_at || number == offsets_v_at) return !packed_k && !paged;
  return false;
}

// Of a token that a sequence does not have all but the gradient of bias is stored again afterwards.
bool attention_case::fills_lengths(std::size_t number) const noexcept {
  if (!operands_[d_bias_at].null()) return false;
  return (number == lengths_q_at && makes_offsets(offsets_q_at)) ||
         (number == lengths_kv_at && makes_offsets(offsets_k_at));
}

std::int64_t attention_case::sequence_stride(std::size_t number) const {
  return is_staged(number) ? packed_strides(staged_extents(number).extents())[0]
                           : operands_[number].stride(0);
}

// A query that attends to nothing has the statistic −∞, which the difference to a masked score
// would make a NaN of.
bool attention_case::patches_statistics() const noexcept {
  return backward_ && (has_lengths() || left_ >= 0 || right_ >= 0);
}

shape attention_case::staged_extents(std::size_t number) const {
  const any_tensor& t = operands_[number];
  std::vector<std::int64_t> extents(t.extents().begin(), t.extents().end());
  if (has_rows(number)) extents.back() = rounded_up(extents.back());
  return shape(extents);
}

void attention_case::write(plan_words& key) const {
  key.clear();
  constexpr std::int64_t form = 7;  // of this key, raised with every change of what graphs are made
  key.push_back(form << 8 | (backward_ ? 0x81 : 0x80));
  for (std::size_t number = 0; number < operands_.size(); ++number) {
    write_layout(key, operands_[number]);
    if (has_rows(number)) key.push_back(is_staged(number));
    if (is_of_scores(number))
      key.push_back(is_staged(number) ? well_aligned : alignment_of(operands_[number]));
  }
  for (const std::int64_t size : {sizes_.batch, sizes_.s_q, sizes_.s_kv, left_, right_})
    key.push_back(size);
  key.push_back(std::bit_cast<std::int64_t>(scale_));
  key.push_back(std::bit_cast<std::int64_t>(dropout_));
  key.push_back(static_cast<std::int64_t>(diagonal_) | std::int64_t{alibi_} << 8 |
                std::int64_t{deterministic_} << 9);
}

// An operand as cuDNN is told of it: with four dimensions, whatever the request's layout.
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
      made.strides = {made.strides[0], made.strides[0], made.strides[1], 1};
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
  if (is_of_scores(number)) made.alignment = is_staged(number) ? well_aligned : alignment_of(t);
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
