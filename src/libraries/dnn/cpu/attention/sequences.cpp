#include "libraries/dnn/cpu/attention/sequences.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::cpu::attention {
namespace {

template <class T>
T element(const any_tensor& t, std::int64_t i) noexcept {
  return t.data<T>()[i * t.stride(0)];
}

error invalid(std::string message) {
  return {.code = errc::invalid_argument, .message = std::move(message)};
}

result<std::vector<std::int64_t>> lengths_in(std::string_view name, const any_tensor& lengths,
                                             std::int64_t batch, std::int64_t most) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(batch), most);
  if (lengths.null()) return all;
  for (std::int64_t n = 0; n < batch; ++n) {
    const std::int64_t length = element<std::int32_t>(lengths, n);
    if (length < 0 || length > most) {
      return invalid(fmt::format("{}[{}] must be from 0 to {}; it is {}", name, n, most, length));
    }
    all[static_cast<std::size_t>(n)] = length;
  }
  return all;
}

}  // namespace

sequence_rows layout_of_sequences::of(std::int64_t sequence) const noexcept {
  const std::int64_t size = size_of(view->type());
  const int heads = 1;  // the dimension, in every layout
  const int rows = packed ? 0 : 2;
  sequence_rows made{.type = view->type(),
                     .first = view->address(),
                     .head_step = view->stride(heads) * size,
                     .row_step = view->stride(rows) * size,
                     .stride = view->stride(view->rank() - 1)};
  if (packed) {
    made.first += element<std::int64_t>(*offsets, sequence) * size;
  } else if (table != nullptr) {
    made.table = table->data<std::int32_t>() + sequence * table->stride(0);
    made.table_step = table->stride(1);
    made.page_size = view->extent(2);
    made.page_step = view->stride(0) * size;
  } else {
    made.first += sequence * view->stride(0) * size;
  }
  return made;
}

result<void> layout_of_sequences::check(std::string_view name, std::string_view lengths_name,
                                        std::int64_t sequence, std::int64_t length) const {
  if (length == 0) return {};
  if (packed) {
    // The last element of the last row, and the last one of the tensor, from its first.
    const std::int64_t offset = element<std::int64_t>(*offsets, sequence);
    std::int64_t end = (view->extent(0) - 1) * view->stride(0);
    std::int64_t last = (length - 1) * view->stride(0);
    for (int d = 1; d < view->rank(); ++d) {
      const std::int64_t reach = std::max<std::int64_t>(view->extent(d) - 1, 0) * view->stride(d);
      end += reach;
      last += reach;
    }
    if (length > view->extent(0) || offset < 0 || offset > end - last) {
      return invalid(fmt::format(
          "packed.offsets_{}[{}] must leave room in {} for the {} tokens of {}[{}]; it is {}, and "
          "{} is "
          "{}",
          name, sequence, name, length, lengths_name, sequence, offset, name, view->to_string()));
    }
  } else if (table != nullptr) {
    const std::int64_t pages = (length + view->extent(2) - 1) / view->extent(2);
    for (std::int64_t i = 0; i < pages; ++i) {
      const std::int32_t page =
          table->data<std::int32_t>()[sequence * table->stride(0) + i * table->stride(1)];
      if (page >= 0 && page < view->extent(0)) continue;
      return invalid(fmt::format("pages.{}[{}, {}] must be a page of {}, from 0 to {}; it is {}",
                                 name, sequence, i, name, view->extent(0) - 1, page));
    }
  }
  return {};
}

template <dnn::attention_request R>
result<sequence_lengths> read_lengths(const R& r) {
  const dnn::attention_sizes s = dnn::sizes_of(r);
  auto queries = lengths_in("mask.lengths_q", r.mask.lengths_q, s.batch, s.s_q);
  if (!queries) return std::move(queries).error();
  auto keys = lengths_in("mask.lengths_kv", r.mask.lengths_kv, s.batch, s.s_kv);
  if (!keys) return std::move(keys).error();
  sequence_lengths lengths{*std::move(queries), *std::move(keys)};
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const std::int64_t of_q = lengths.queries[static_cast<std::size_t>(n)];
    const std::int64_t of_k = lengths.keys[static_cast<std::size_t>(n)];
    for (const result<void>& checked : {queries_of(r, r.q).check("q", "mask.lengths_q", n, of_q),
                                        results_of(r, r.o).check("o", "mask.lengths_q", n, of_q),
                                        keys_of(r, r.k).check("k", "mask.lengths_kv", n, of_k),
                                        values_of(r, r.v).check("v", "mask.lengths_kv", n, of_k)}) {
      if (!checked) return checked.error();
    }
    if constexpr (std::same_as<R, dnn::attention_backward>) {
      for (const result<void>& checked :
           {results_of(r, r.dout).check("o", "mask.lengths_q", n, of_q),
            queries_of(r, r.dq).check("q", "mask.lengths_q", n, of_q),
            keys_of(r, r.dk).check("k", "mask.lengths_kv", n, of_k),
            values_of(r, r.dv).check("v", "mask.lengths_kv", n, of_k)}) {
        if (!checked) return checked.error();
      }
    }
  }
  return lengths;
}
template result<sequence_lengths> read_lengths(const dnn::attention_forward& r);
template result<sequence_lengths> read_lengths(const dnn::attention_backward& r);

}  // namespace troupe::cpu::attention
