// Keys and values of growing sequences, in pages.
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "dtypes.hpp"
#include "future.hpp"
#include "tensor.hpp"

#include <troupe/dnn/kv_cache.hpp>

#include <nanobind/ndarray.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::python {
namespace {

using dnn::kv_sequence;

struct py_kv_cache {
  dnn::kv_cache cache;
  device_ref device;
};
struct py_kv_step {
  std::optional<dnn::kv_step> step;  // none when over
  dnn::kv_cache cache;
  device_ref device;
  bool packed = false;
};

dnn::kv_step& open(py_kv_step& s) {
  if (!s.step) throw nb::value_error("the step is over");
  return *s.step;
}

nb::object tensor_of(const any_tensor& view, const device_ref& device) {
  return nb::cast(py_tensor{view, device});
}

py_kv_cache make(nb::handle device, std::int64_t layers, std::int64_t heads, std::int64_t key_size,
                 std::int64_t pages, std::int64_t page_size, std::int64_t value_size,
                 nb::handle type) {
  const device_ref& on = handle_of(device);
  return {value_of(dnn::kv_cache::make(on->device, {.layers = layers,
                                                    .heads = heads,
                                                    .key_size = key_size,
                                                    .value_size = value_size,
                                                    .page_size = page_size,
                                                    .pages = pages,
                                                    .type = dtype_from(type)})),
          on};
}

any_tensor layer_of(const py_kv_cache& c, std::int64_t layer, bool keys) {
  if (layer < 0 || layer >= c.cache.config().layers) throw nb::index_error("no such layer");
  return keys ? c.cache.keys(layer) : c.cache.values(layer);
}

py_kv_step begin_step(py_kv_cache& c, const std::vector<std::uint64_t>& sequences,
                      const std::variant<std::int64_t, std::vector<std::int64_t>>& tokens) {
  const auto* each = std::get_if<std::vector<std::int64_t>>(&tokens);
  if (each == nullptr) {
    std::vector<kv_sequence> all;
    for (const std::uint64_t one : sequences)
      all.push_back(kv_sequence{one});
    auto begun = without_gil([&] { return c.cache.step(all, std::get<std::int64_t>(tokens)); });
    return {value_of(std::move(begun)), c.cache, c.device, false};
  }
  if (each->size() != sequences.size())
    throw nb::value_error("tokens must have a number for each sequence");
  std::vector<dnn::kv_growth> all;
  for (std::size_t i = 0; i < sequences.size(); ++i)
    all.push_back({.sequence = kv_sequence{sequences[i]}, .tokens = (*each)[i]});
  auto begun = without_gil([&] { return c.cache.step(all); });
  return {value_of(std::move(begun)), c.cache, c.device, true};
}

// The operands of attention from the step, by the names of its arguments.
nb::dict operands(py_kv_step& s, std::int64_t layer, nb::handle q, nb::handle o) {
  if (layer < 0 || layer >= s.cache.config().layers) throw nb::index_error("no such layer");
  dnn::attention_forward r;
  failed_operand failed;
  if (s.packed) {
    const any_tensor queries = tensor_given(q, "q", failed);
    const any_tensor results = o.is_none() ? any_tensor{} : tensor_given(o, "o", failed);
    // A failed one is told of by the request.
    if (failed.why) return {};
    r = open(s).attend(layer, queries, results);
  } else {
    r = open(s).attend(layer, {}, {});
  }
  nb::dict all;
  const auto add = [&](const char* name, const any_tensor& t) {
    if (!t.null()) all[name] = tensor_of(t, s.device);
  };
  add("k", r.k);
  add("v", r.v);
  add("mask_lengths_q", r.mask.lengths_q);
  add("mask_lengths_kv", r.mask.lengths_kv);
  add("pages_k", r.pages.k);
  add("pages_v", r.pages.v);
  add("packed_offsets_q", r.packed.offsets_q);
  add("packed_offsets_o", r.packed.offsets_o);
  if (s.packed) all["packed_longest_q"] = r.packed.longest_q;
  all["all_attend"] = r.all_attend;
  all["mask_diagonal"] = "bottom_right";
  all["mask_right"] = r.mask.right;
  return all;
}

using numbers = nb::ndarray<std::int32_t, nb::numpy, nb::c_contig, nb::device::cpu>;

void write(py_kv_step& s, const numbers& rows, const numbers& lengths, const numbers& pages) {
  const auto all = [](const numbers& of) { return std::span(of.data(), of.size()); };
  value_of(open(s).write({.rows = all(rows), .lengths = all(lengths), .pages = all(pages)}));
}

using kept_tokens = std::optional<std::vector<std::int64_t>>;

future<void> commit(py_kv_step& s, const kept_tokens& kept) {
  s.device->queue->flush();
  dnn::kv_step taken = std::move(open(s));
  s.step.reset();
  return kept ? taken.commit_async(*kept) : taken.commit_async();
}

}  // namespace

void add_kv_cache(nb::module_& m) {
  nb::class_<py_kv_step>(
      m, "KvStep",
      "New tokens of some sequences of a KvCache, part of them once committed.\n\n"
      "As a context manager, it commits unless the block raises.")
      .def(
          "append",
          [](py_kv_step& s, std::int64_t layer, nb::handle k, nb::handle v) {
            failed_operand failed;
            const any_tensor& keys = tensor_given(k, "k", failed);
            const any_tensor& values = tensor_given(v, "v", failed);
            if (failed.why) return not_sent("KvStep.append", std::move(failed));
            s.device->queue->flush();
            return nb::cast(py_future(open(s).append(layer, keys, values)));
          },
          nb::arg("layer"), nb::arg("k"), nb::arg("v"),
          "Appends keys [b, n, heads, key_size] and values [b, n, heads, value_size], of a packed\n"
          "step [t, heads, ...].")
      .def("write", &write, nb::arg("rows"), nb::arg("lengths"), nb::arg("pages"),
           "Fills arrays of int32 with the places of a packed step's tokens, which the program\n"
           "writes by itself in every layer, as a request graph does: append() is not needed.\n\n"
           "rows: for each token, page * page_size + its place in the page. lengths: of each\n"
           "sequence, with the new tokens. pages: those of each sequence, [sequences, any], 0\n"
           "behind the last. What else reads or writes the cache may be sent once the requests of\n"
           "the program have ended. If the step is abandoned, its rows are set to zero.")
      .def("_operands", &operands, nb::arg("layer"), nb::arg("q").none(), nb::arg("o").none())
      .def_prop_ro("_device", [](const py_kv_step& s) { return make_device(s.device); })
      .def(
          "commit_async",
          [](py_kv_step& s, const kept_tokens& kept) { return py_future(commit(s, kept)); },
          nb::arg("kept") = nb::none(),
          "commit() as a Future: the sequences have the tokens when it is ready, also if it is\n"
          "dropped.")
      .def(
          "commit",
          [](py_kv_step& s, const kept_tokens& kept) {
            future<void> done = commit(s, kept);
            value_of(without_gil([&] { return done.get_result(); }));
          },
          nb::arg("kept") = nb::none(),
          "Waits for the step's requests, and adds its tokens to the sequences; if one failed,\n"
          "raises its failure, and the sequences stay what they were.\n\n"
          "kept: how many of its new tokens each sequence gets, the first ones; else all.")
      .def(
          "abandon", [](py_kv_step& s) { s.step.reset(); },
          "Ends the step; the sequences stay what they were.")
      .def_prop_ro(
          "over", [](const py_kv_step& s) { return !s.step.has_value(); },
          "True after commit() or abandon(), or the end of a with block.");

  nb::class_<py_kv_cache>(
      m, "KvCache",
      "Keys and values of growing sequences, in pages that sequences share where\n"
      "they begin alike. They outlive the worker. Thread-safe.")
      .def(
          "begin", [](py_kv_cache& c) { return static_cast<std::uint64_t>(c.cache.begin()); },
          "The number of a new sequence without tokens.")
      .def(
          "fork",
          [](py_kv_cache& c, std::uint64_t from, std::optional<std::int64_t> tokens) {
            return static_cast<std::uint64_t>(value_of(without_gil([&] {
              return tokens ? c.cache.fork(kv_sequence{from}, *tokens)
                            : c.cache.fork(kv_sequence{from});
            })));
          },
          nb::arg("sequence"), nb::arg("tokens") = nb::none(),
          "A new sequence that begins with the first tokens of another, or all. Full pages are\n"
          "shared.")
      .def(
          "end",
          [](py_kv_cache& c, std::uint64_t one) {
            value_of(without_gil([&] { return c.cache.end(kv_sequence{one}); }));
          },
          nb::arg("sequence"), "Ends a sequence: pages that no other one shares are free again.")
      .def(
          "step", &begin_step, nb::arg("sequences"), nb::arg("tokens") = 1,
          "Begins a step of so many new tokens for each of these sequences. With a list of\n"
          "numbers, one for each, the step is packed: its keys, values and queries are [t, heads,\n"
          "...], one sequence behind the other.\n\n"
          "Raises OutOfMemory where there are not enough free pages.")
      .def(
          "length",
          [](const py_kv_cache& c, std::uint64_t one) {
            return value_of(c.cache.length(kv_sequence{one}));
          },
          nb::arg("sequence"), "Tokens of a sequence.")
      .def(
          "pages_of",
          [](const py_kv_cache& c, std::uint64_t one) {
            return value_of(c.cache.pages_of(kv_sequence{one}));
          },
          nb::arg("sequence"), "The pages of a sequence, in order.")
      .def(
          "keys",
          [](const py_kv_cache& c, std::int64_t layer) {
            return py_tensor{layer_of(c, layer, true), c.device};
          },
          nb::arg("layer"), "The pages of a layer: [pages, heads, page_size, key_size].")
      .def(
          "values",
          [](const py_kv_cache& c, std::int64_t layer) {
            return py_tensor{layer_of(c, layer, false), c.device};
          },
          nb::arg("layer"), "The pages of a layer: [pages, heads, page_size, value_size].")
      .def_prop_ro(
          "free_pages", [](const py_kv_cache& c) { return c.cache.free_pages(); },
          "The number of pages that no sequence uses.");

  m.def("_kv_cache", &make);
}

}  // namespace troupe::python
