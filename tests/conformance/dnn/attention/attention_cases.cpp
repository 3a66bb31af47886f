#include "attention_cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

namespace troupe::conformance {
namespace {

using attention_reference::block;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

scene::extents strides_of(const scene::extents& size, const std::vector<std::size_t>& order,
                          std::int64_t gap) {
  scene::extents strides(size.size());
  std::int64_t step = 1;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    strides[*at] = step;
    step = step * std::max<std::int64_t>(size[*at], 1) + gap;
  }
  return strides;
}

block rounded(block all, dtype type) {
  std::array<std::byte, 8> room{};
  for (double& one : all.values) {
    store(type, room.data(), one);
    one = load(type, room.data()).real();
  }
  return all;
}

}  // namespace

std::string attention_case::text() const {
  std::ostringstream t;
  t << to_string(type) << " b " << b << " h " << h << ' ' << h_k << ' ' << h_v << " s " << s_q
    << ' ' << s_kv << " d " << d << ' ' << d_v << " layout " << static_cast<int>(layout) << " keys "
    << static_cast<int>(keys) << " queries " << static_cast<int>(queries) << " page_size "
    << page_size << (lengths ? " lengths" : "")
    << (diagonal == dnn::diagonal::bottom_right ? " bottom_right" : "") << " left " << left
    << " right " << right;
  if (bias) t << " bias " << (*bias)[0] << (*bias)[1] << (f32_bias ? " f32" : "");
  t << (alibi ? " alibi" : "") << " dropout " << dropout << " scale " << scale
    << (promises ? " promises" : "") << " soft_cap " << soft_cap << (sinks ? " sinks" : "");
  if (allowed) t << " allowed " << (*allowed)[0] << (*allowed)[1] << (*allowed)[2];
  return t.str();
}

attention_case attention_case::random(dtype type, std::mt19937_64& from) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(from() % n); };
  const auto one_of = [&](std::initializer_list<std::int64_t> list) {
    return list.begin()[below(list.size())];
  };
  attention_case c{.type = type};
  c.b = one_of({0, 1, 1, 2, 3});
  c.h = one_of({1, 2, 3, 4, 6});
  const auto divisor = [&] {
    std::int64_t n = 1 + below(static_cast<std::uint64_t>(c.h));
    while (c.h % n != 0)
      --n;
    return n;
  };
  c.h_k = divisor();
  c.h_v = below(4) == 0 ? divisor() : c.h_k;
  c.keys = static_cast<storage>(below(3));
  c.queries = static_cast<storage>(below(2));
  // 0 for the longest packed sequence would stand for all tokens.
  c.s_q = one_of({c.queries == storage::packed ? 1 : 0, 1, 2, 5, 17, 33, 70});
  c.s_kv = one_of({c.keys == storage::packed ? 1 : 0, 1, 3, 16, 31, 129, 200});
  c.d = one_of({1, 3, 8, 16, 20, 40, 64});
  c.d_v = below(3) == 0 ? one_of({1, 5, 16, 24, 80}) : c.d;
  c.layout = head_layouts[below(4)];
  c.page_size = one_of({1, 4, 16});
  c.lengths = below(2) == 0 || c.keys != storage::plain || c.queries != storage::plain;
  c.diagonal = static_cast<dnn::diagonal>(below(2));
  c.left = one_of({-1, -1, 0, 3, 50});
  c.right = one_of({-1, -1, 0, 0, 2});
  if (below(3) == 0) c.bias = std::array{below(2) == 0, below(2) == 0};
  c.f32_bias = type == dtype::e4m3 || below(2) == 0;
  c.alibi = below(4) == 0;
  c.dropout = below(4) == 0 ? 0.25 : 0;
  // To look at a mask takes a request for each d_v keys.
  if (c.dropout > 0) c.d_v = std::max<std::int64_t>(c.d_v, 16);
  c.scale = below(2) == 0 ? 0.5 : 0;
  c.promises = below(2) == 0;
  if (below(6) == 0) c.soft_cap = below(2) == 0 ? 0.5 : 50;
  c.sinks = below(6) == 0;
  if (below(6) == 0) c.allowed = std::array{below(2) == 0, below(2) == 0, below(2) == 0};
  return c;
}

std::vector<attention_case> attention_case::with_masking_bias(dtype type) {
  const attention_case base{.type = type, .s_q = 9, .s_kv = 16, .bias = std::array{true, true}};
  std::vector<attention_case> all(6, base);
  all[1].s_q = all[1].s_kv = 1;
  all[1].bias = std::array{false, false};
  all[2].lengths = true;
  all[2].s_kv = 136;
  all[3].right = 0;
  all[3].bias = std::array{false, true};
  all[4].h = 4;
  all[4].h_k = all[4].h_v = 1;
  all[4].f32_bias = true;
  all[5].s_kv = 257;
  all[5].bias = std::array{true, false};
  return all;
}

attention_stage::attention_stage(scene& s, const attention_case& c, std::optional<dtype> result)
    : s_(s), c_(c) {
  auto& random = s.generator();
  // cuDNN does not know packed sequences without a token.
  const bool packs = c.keys == storage::packed || c.queries == storage::packed;
  const auto drawn = [&](std::int64_t most) {
    const std::int64_t least = packs && by_cudnn() ? std::min<std::int64_t>(1, most) : 0;
    std::vector<std::int64_t> all(static_cast<std::size_t>(c.b), most);
    for (std::size_t n = 0; c.lengths && n < all.size(); ++n) {
      const auto kind = random() % 4;
      if (kind == 0) all[n] = least;
      if (kind > 1)
        all[n] = least +
                 static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1 - least));
    }
    return all;
  };
  per_sequence_ = (c.s_kv + c.page_size - 1) / c.page_size;
  // Keys of pages are as many as these have room for.
  const std::int64_t s_kv = c.keys == storage::paged ? per_sequence_ * c.page_size : c.s_kv;
  problem_.lengths_q = drawn(c.s_q);
  problem_.lengths_kv = drawn(s_kv);
  if (c.lengths) {
    lengths_q_ = &s.tensor(dtype::i32, {c.b}, {2});
    lengths_kv_ = &s.tensor(dtype::i32, {c.b}, {1});
    const auto as_numbers = [](const std::vector<std::int64_t>& all) {
      std::vector<number> numbers;
      numbers.reserve(all.size());
      for (const std::int64_t n : all)
        numbers.emplace_back(static_cast<double>(n));
      return numbers;
    };
    s.fill(*lengths_q_, as_numbers(problem_.lengths_q));
    s.fill(*lengths_kv_, as_numbers(problem_.lengths_kv));
  }
  // Packed sequences lie one after another, with a token between them that belongs to none.
  const auto pack = [](const std::vector<std::int64_t>& lengths, std::vector<std::int64_t>& first) {
    std::int64_t tokens = 1;
    for (const std::int64_t n : lengths) {
      first.push_back(tokens);
      tokens += n + 1;
    }
    return tokens;
  };
  tokens_q_ = pack(problem_.lengths_q, first_q_);
  tokens_kv_ = pack(problem_.lengths_kv, first_kv_);
  if (c.keys == storage::paged) {
    pages_ = c.b * per_sequence_ + 2;
    std::vector<std::int32_t> free(static_cast<std::size_t>(pages_));
    std::iota(free.begin(), free.end(), 0);
    std::shuffle(free.begin(), free.end(), random);
    pages_of_.assign(free.begin(), free.end() - 2);
    table_ = &s.tensor(dtype::i32, {c.b, per_sequence_}, {per_sequence_ + 1, 1});
    std::vector<number> entries;
    for (std::size_t i = 0; i < pages_of_.size(); ++i) {
      const auto n = static_cast<std::int64_t>(i) / per_sequence_;
      const auto page = static_cast<std::int64_t>(i) % per_sequence_;
      // Entries beyond a length lead nowhere.
      const bool used = page * c.page_size < problem_.lengths_kv[static_cast<std::size_t>(n)];
      entries.emplace_back(used ? pages_of_[i] : -7);
    }
    s.fill(*table_, entries);
  }
  q = &rows_of(c.type, c.h, c.d, false);
  k = &rows_of(c.type, c.h_k, c.d, true);
  v = &rows_of(c.type, c.h_v, c.d_v, true);
  o = &rows_of(result.value_or(c.type), c.h, c.d_v, false);
  if (c.queries == storage::packed) {
    offsets_q_ = offsets_of(*q, false);
    offsets_o_ = offsets_of(*o, false);
  }
  if (c.keys == storage::packed) {
    offsets_k_ = offsets_of(*k, true);
    offsets_v_ = offsets_of(*v, true);
  }
  // Offsets count elements, so such tensors stay as they are.
  if (c.queries == storage::packed || c.keys == storage::packed) s.keep_layouts();
  problem_.q = random_block({c.b, c.h, c.s_q, c.d}, c.type);
  problem_.k = random_block({c.b, c.h_k, s_kv, c.d}, c.type);
  problem_.v = random_block({c.b, c.h_v, s_kv, c.d_v}, c.type);
  store(*q, problem_.q, false);
  store(*k, problem_.k, true);
  store(*v, problem_.v, true);
  problem_.scale = c.scale;
  problem_.diagonal = c.diagonal;
  problem_.left = c.left;
  problem_.right = c.right;
  problem_.alibi = c.alibi;
  problem_.dropout = c.dropout;
  problem_.seed = 0x123456789abcdef;
  problem_.offset = 7;
  problem_.fp8 = c.type == dtype::e4m3;
  statistics = &s.tensor(c.type == dtype::f64 ? dtype::f64 : dtype::f32, {c.b, c.h, c.s_q, 1},
                         {c.h * c.s_q + 1, c.s_q, 1, 1});
  if (c.bias) {
    const std::array<std::int64_t, 4> size = {(*c.bias)[0] ? c.b : 1, (*c.bias)[1] ? c.h : 1, c.s_q,
                                              s_kv};
    const dtype type = c.f32_bias && c.type != dtype::f64 ? dtype::f32 : c.type;
    bias = &s.tensor(type, {size[0], size[1], size[2], size[3]},
                     strides_of({size[0], size[1], size[2], size[3]}, {0, 1, 2, 3}, 1));
    problem_.bias = block(size);
    std::vector<number> numbers = bias->values;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      problem_.bias.values[i] = numbers[i].real();
  }
  problem_.soft_cap = c.soft_cap;
  add_sinks_and_mask();
}

void attention_stage::add_sinks_and_mask() {
  if (c_.sinks) {
    const dtype type = c_.f32_bias && c_.type != dtype::f64 ? dtype::f32 : c_.type;
    sinks = &s_.tensor(type, {c_.h}, {2});
    problem_.sinks = random_block({c_.h, 1, 1, 1}, type);
    s_.fill(*sinks,
            std::vector<number>(problem_.sinks.values.begin(), problem_.sinks.values.end()));
  }
  if (!c_.allowed) return;
  const auto& [has_b, has_h, has_q] = *c_.allowed;
  const std::array<std::int64_t, 4> size = {has_b ? c_.b : 1, has_h ? c_.h : 1, has_q ? c_.s_q : 1,
                                            problem_.k.size[2]};
  allowed = &s_.tensor(dtype::boolean, {size[0], size[1], size[2], size[3]},
                       strides_of({size[0], size[1], size[2], size[3]}, {0, 1, 2, 3}, 1));
  problem_.allowed = block(size);
  // Some queries may attend to nothing.
  for (std::size_t i = 0; i < problem_.allowed.values.size(); ++i) {
    const auto query = size[3] == 0 ? 0 : static_cast<std::int64_t>(i) / size[3];
    problem_.allowed.values[i] = query % 5 != 3 && s_.generator()() % 3 != 0 ? 1 : 0;
  }
  s_.fill(*allowed,
          std::vector<number>(problem_.allowed.values.begin(), problem_.allowed.values.end()));
}

bool attention_stage::by_cudnn() const {
  return s_.on_gpu() && c_.type != dtype::f64 && c_.type != dtype::f32;
}

test_tensor& attention_stage::rows_of(dtype type, std::int64_t heads, std::int64_t width,
                                      bool of_keys) {
  const storage how = of_keys ? c_.keys : c_.queries;
  const std::int64_t gap = c_.layout == head_layout::gaps ? 3 : 0;
  if (how == storage::packed) {
    const scene::extents size = {of_keys ? tokens_kv_ : tokens_q_, heads, width};
    const std::vector<std::size_t> order =
        c_.layout == head_layout::heads_first ? std::vector<std::size_t>{1, 0, 2}
        : c_.layout == head_layout::columns   ? std::vector<std::size_t>{1, 2, 0}
                                              : std::vector<std::size_t>{0, 1, 2};
    return s_.tensor(type, size, strides_of(size, order, gap));
  }
  const scene::extents size = how == storage::paged
                                  ? scene::extents{pages_, heads, c_.page_size, width}
                                  : scene::extents{c_.b, heads, of_keys ? c_.s_kv : c_.s_q, width};
  const std::vector<std::size_t> order =
      c_.layout == head_layout::tokens_first ? std::vector<std::size_t>{0, 2, 1, 3}
      : c_.layout == head_layout::columns    ? std::vector<std::size_t>{0, 1, 3, 2}
                                             : std::vector<std::size_t>{0, 1, 2, 3};
  return s_.tensor(type, size, strides_of(size, order, gap));
}

test_tensor* attention_stage::offsets_of(const test_tensor& t, bool of_keys) {
  test_tensor& offsets = s_.tensor(dtype::i64, {c_.b + 1}, {1});
  std::vector<number> numbers;
  for (const std::int64_t first : of_keys ? first_kv_ : first_q_)
    numbers.emplace_back(static_cast<double>(first * t.view.stride(0)));
  numbers.emplace_back(static_cast<double>((of_keys ? tokens_kv_ : tokens_q_) * t.view.stride(0)));
  s_.fill(offsets, numbers);
  return &offsets;
}

block attention_stage::random_block(std::array<std::int64_t, 4> size, dtype type) {
  block made(size);
  for (double& one : made.values)
    one = s_.random(type).real();
  return rounded(std::move(made), type);
}

// The place of each element of whole sequences in the row-major order of the tensor; −1 beyond the
// lengths.
template <class Use>
void attention_stage::each_element(const test_tensor& t, const std::array<std::int64_t, 4>& size,
                                   bool of_keys, Use use) const {
  const storage how = of_keys ? c_.keys : c_.queries;
  for (std::int64_t b = 0; b < size[0]; ++b) {
    const auto n = static_cast<std::size_t>(b);
    const std::int64_t length = (of_keys ? problem_.lengths_kv : problem_.lengths_q)[n];
    for (std::int64_t head = 0; head < size[1]; ++head) {
      for (std::int64_t i = 0; i < std::min(size[2], length); ++i) {
        for (std::int64_t x = 0; x < size[3]; ++x) {
          std::int64_t place = 0;
          if (how == storage::plain) {
            place = ((b * size[1] + head) * t.view.extent(2) + i) * size[3] + x;
          } else if (how == storage::packed) {
            const std::int64_t token = (of_keys ? first_kv_ : first_q_)[n] + i;
            place = (token * size[1] + head) * size[3] + x;
          } else {
            const std::int64_t page =
                pages_of_[static_cast<std::size_t>(b * per_sequence_ + i / c_.page_size)];
            place = ((page * size[1] + head) * c_.page_size + i % c_.page_size) * size[3] + x;
          }
          use(b, head, i, x, static_cast<std::size_t>(place));
        }
      }
    }
  }
}

void attention_stage::store(test_tensor& t, const block& all, bool of_keys) {
  std::vector<number> values(static_cast<std::size_t>(t.view.count()), nan);
  each_element(t, all.size, of_keys,
               [&](std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t x,
                   std::size_t place) { values[place] = all(b, head, i, x); });
  s_.fill(t, values);
}

block attention_stage::now(const test_tensor& t, bool of_keys) {
  const std::vector<number> values = s_.elements_now(t);
  const storage how = of_keys ? c_.keys : c_.queries;
  const int head = 1;
  block all({c_.b, t.view.extent(head), of_keys ? problem_.k.size[2] : c_.s_q,
             t.view.extent(t.view.rank() - 1)});
  if (how == storage::plain) {
    for (std::size_t i = 0; i < values.size(); ++i)
      all.values[i] = values[i].real();
    return all;
  }
  each_element(t, all.size, of_keys,
               [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t x,
                   std::size_t place) { all(b, h, i, x) = values[place].real(); });
  return all;
}

block attention_stage::plain_now(const test_tensor& t) {
  block all({t.view.extent(0), t.view.extent(1), t.view.extent(2), t.view.extent(3)});
  const std::vector<number> values = s_.elements_now(t);
  for (std::size_t i = 0; i < values.size(); ++i)
    all.values[i] = values[i].real();
  return all;
}

namespace {

any_tensor view_of(const test_tensor* t) { return t == nullptr ? any_tensor() : t->view; }

}  // namespace

dnn::attention_forward attention_stage::forward() const {
  return {.q = q->view,
          .k = k->view,
          .v = v->view,
          .o = o->view,
          .statistics = statistics->view,
          .scale = c_.scale,
          .mask = {.diagonal = c_.diagonal,
                   .left = c_.left,
                   .right = c_.right,
                   .lengths_q = view_of(lengths_q_),
                   .lengths_kv = view_of(lengths_kv_),
                   .allowed = view_of(allowed)},
          .all_attend = c_.promises && all_attend(),
          .bias = view_of(bias),
          .alibi = c_.alibi,
          .dropout = {.probability = c_.dropout, .seed = problem_.seed, .offset = problem_.offset},
          .packed = {.offsets_q = view_of(offsets_q_),
                     .offsets_k = view_of(offsets_k_),
                     .offsets_v = view_of(offsets_v_),
                     .offsets_o = view_of(offsets_o_),
                     .longest_q = offsets_q_ == nullptr ? 0 : c_.s_q,
                     .longest_kv = offsets_k_ == nullptr ? 0 : c_.s_kv},
          .pages = {.k = view_of(table_), .v = view_of(table_)},
          .soft_cap = c_.soft_cap,
          .sinks = view_of(sinks)};
}

bool attention_stage::all_attend() const {
  for (std::int64_t b = 0; b < c_.b; ++b) {
    for (std::int64_t i = 0; i < c_.s_q; ++i) {
      bool attends = false;
      for (std::int64_t j = 0; j < problem_.k.size[2] && !attends; ++j)
        attends = problem_.attends(b, 0, i, j);
      // A mask may differ from head to head.
      if (!attends || allowed != nullptr) return false;
    }
  }
  return true;
}

void attention_stage::look_at_dropout() {
  if (c_.dropout == 0 || !by_cudnn()) return;
  s_.keep_layouts();  // so that one plan computes all of it
  const std::vector<number> given = v->values;
  const std::int64_t s_kv = problem_.k.size[2];
  const std::int64_t width = c_.d_v;
  block kept({c_.b, c_.h, c_.s_q, s_kv});
  for (std::int64_t first = 0; first < s_kv; first += width) {
    block values(problem_.v.size);
    const std::int64_t keys = std::min(width, s_kv - first);
    for (std::int64_t b = 0; b < c_.b; ++b) {
      for (std::int64_t head = 0; head < c_.h_v; ++head) {
        for (std::int64_t x = 0; x < keys; ++x)
          values(b, head, first + x, x) = 1;
      }
    }
    store(*v, values, true);
    if (!s_.attempt(forward())) return;  // the test's own request fails likewise
    const block seen = now(*o, false);
    for (std::int64_t b = 0; b < c_.b; ++b) {
      for (std::int64_t head = 0; head < c_.h; ++head) {
        for (std::int64_t i = 0; i < c_.s_q; ++i) {
          for (std::int64_t x = 0; x < keys; ++x)
            kept(b, head, i, first + x) = seen(b, head, i, x) != 0 ? 1 / (1 - c_.dropout) : 0;
        }
      }
    }
  }
  s_.fill(*v, given);
  problem_.seen_kept = kept;
}

void attention_stage::add_gradients(const attention_reference::answer& of_forward) {
  o_in = &rows_of(c_.type, c_.h, c_.d_v, false);
  d_o = &rows_of(c_.type, c_.h, c_.d_v, false);
  o_ = rounded(of_forward.o, c_.type);
  store(*o_in, o_, false);
  d_o_ = random_block({c_.b, c_.h, c_.s_q, c_.d_v}, c_.type);
  store(*d_o, d_o_, false);
  statistics_in =
      &s_.tensor(statistics->view.type(), {c_.b, c_.h, c_.s_q, 1}, {c_.h * c_.s_q, c_.s_q, 1, 1});
  statistics_ = rounded(of_forward.statistics, statistics->view.type());
  s_.fill(*statistics_in,
          std::vector<number>(statistics_.values.begin(), statistics_.values.end()));
  d_q = &rows_of(c_.type, c_.h, c_.d, false);
  d_k = &rows_of(c_.type, c_.h_k, c_.d, true);
  d_v = &rows_of(c_.type, c_.h_v, c_.d_v, true);
  if (bias != nullptr) {
    const auto e = bias->view.extents();
    d_bias = &s_.tensor(bias->view.type(), {e[0], e[1], e[2], e[3]},
                        strides_of({e[0], e[1], e[2], e[3]}, {0, 1, 2, 3}, 0));
  }
  if (sinks != nullptr) d_sinks = &s_.tensor(sinks->view.type(), {c_.h}, {1});
}

dnn::attention_backward attention_stage::backward() const {
  const dnn::attention_forward f = forward();
  return {.q = f.q,
          .k = f.k,
          .v = f.v,
          .o = o_in->view,
          .dout = d_o->view,
          .statistics = statistics_in->view,
          .dq = d_q->view,
          .dk = d_k->view,
          .dv = d_v->view,
          .scale = f.scale,
          .mask = f.mask,
          .bias = f.bias,
          .dbias = view_of(d_bias),
          .alibi = f.alibi,
          .dropout = f.dropout,
          .packed = f.packed,
          .soft_cap = f.soft_cap,
          .sinks = f.sinks,
          .dsinks = view_of(d_sinks)};
}

void attention_stage::mask_by_bias() {
  std::vector<number> values = bias->values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto key = static_cast<std::int64_t>(i) % c_.s_kv;
    const auto query = static_cast<std::int64_t>(i) / c_.s_kv % c_.s_q;
    const bool masked = c_.s_q == 1 || query % 4 == 1 || (query % 4 == 2 && key < c_.s_kv / 2) ||
                        (query % 4 == 3 && key % 3 == 0);
    if (masked) values[i] = -std::numeric_limits<double>::infinity();
    problem_.bias.values[i] = values[i].real();
  }
  s_.fill(*bias, values);
}

void attention_stage::fill_content(const any_tensor& view, const std::vector<number>& values) {
  for (test_tensor* const t :
       {lengths_q_, lengths_kv_, offsets_q_, offsets_k_, offsets_v_, offsets_o_, table_}) {
    if (t != nullptr && t->view.same_view(view)) s_.fill(*t, values);
  }
}

void expect_block(scene& s, const test_tensor& t, const block& now, const block& expected,
                  const block& size, std::int64_t terms, dtype compute) {
  ASSERT_EQ(now.size, expected.size) << s.note();
  for (std::size_t i = 0; i < now.values.size(); ++i) {
    if (now.values[i] == expected.values[i]) continue;  // also infinities
    s.expect_near(t.view.type(), now.values[i], expected.values[i], size.values[i], terms, compute,
                  t.view.to_string() + " element " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace troupe::conformance
