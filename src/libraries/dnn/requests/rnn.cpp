#include "libraries/dnn/requests/attention_sizes.hpp"
#include "libraries/dnn/requests/rnn_shape.hpp"
#include "libraries/dnn/requests/rules.hpp"

#include <troupe/dnn/rnn.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::dnn {
namespace {

using enum dtype;

constexpr double most_steps = std::numeric_limits<std::int32_t>::max();

void options_fit(argument_checks& check, const rnn_network& n) {
  check.rule(n.linear_before_reset || n.cell == rnn_cell::gru, errc::invalid_argument, [] {
    return std::string(
        "network.linear_before_reset must be true because network.cell is not gru; it is false");
  });
  check.rule(n.projection == 0 || n.cell == rnn_cell::lstm, errc::invalid_argument, [&] {
    return fmt::format("network.projection must be 0 because network.cell is not lstm; it is {}",
                       n.projection);
  });
  check.rule(n.projection == 0 || n.projection < n.hidden, errc::invalid_argument, [&] {
    return fmt::format("network.projection must be less than network.hidden, {}; it is {}",
                       n.hidden, n.projection);
  });
  check.rule(n.dropout < 1, errc::invalid_argument, [&] {
    return fmt::format("network.dropout must be less than 1; it is {}", n.dropout);
  });
}

void features_fit(argument_checks& check, std::int64_t steps, std::int64_t batch,
                  std::int64_t input) {
  check.rule(input >= 1 && input <= most_rnn_features, errc::shape_mismatch, [&] {
    return fmt::format("the features of a step must be from 1 to {}; they are {}",
                       most_rnn_features, input);
  });
  check.rule(static_cast<double>(steps) <= most_steps && static_cast<double>(batch) <= most_steps,
             errc::shape_mismatch, [&] {
               return fmt::format(
                   "steps and sequences must be at most 2^31 − 1; they are {} and {}", steps,
                   batch);
             });
}

void dropout_fits(argument_checks& check, const rnn_network& n, const rnn_shape& s) {
  if (!check.good() || !drops(n)) return;
  const std::int64_t words =
      saturated_product(saturated_product(s.steps, s.batch), s.width() * (s.layers - 1));
  check.rule(words <= longest_stream && n.offset <= longest_stream - words, errc::size_overflow,
             [&] {
               return fmt::format(
                   "network.offset must leave room for {} words within the {} of the stream; it is "
                   "{}",
                   words, longest_stream, n.offset);
             });
}

void is(argument_checks& check, const operand& t, int dimension, std::int64_t expected,
        std::string_view why) {
  if (!check.good() || t.view.null()) return;
  check.rule(t.view.extent(dimension) == expected, errc::shape_mismatch, [&] {
    return fmt::format("{} must have extent {} in dimension {}, {}; it is {}", t.name, expected,
                       dimension, why, t.view.to_string());
  });
}

void sequence_fits(argument_checks& check, const operand& t, std::int64_t width) {
  is(check, t, 2, width, "directions times projection, or hidden");
}
void states_fit(argument_checks& check, const rnn_shape& s, const operand& t, bool cell_state) {
  is(check, t, 0, s.states(), "layers times directions");
  is(check, t, 2, cell_state ? s.hidden : s.output,
     cell_state ? "hidden" : "projection, or hidden");
  check.rule(!cell_state || t.view.null() || s.cell == rnn_cell::lstm, errc::invalid_argument, [&] {
    return fmt::format("{} must not be given because network.cell is not lstm", t.name);
  });
}
void weights_fit(argument_checks& check, const rnn_shape& s, const rnn_network& n,
                 const operand& t) {
  is(check, t, 0, rnn_weight_count(n, s.input), "the number of the network's weights");
}

void lies_without_gaps(argument_checks& check, const operand& t, const operand& as) {
  if (!check.good() || t.view.empty()) return;
  const auto is_dense = [&](int outer, int inner) {
    const std::int64_t width = t.view.extent(2);
    const std::int64_t rows = t.view.extent(inner);
    return (width == 1 || t.view.stride(2) == 1) && (rows == 1 || t.view.stride(inner) == width) &&
           (t.view.extent(outer) == 1 || t.view.stride(outer) == width * rows);
  };
  check.rule(time_first(t.view) ? is_dense(0, 1) : is_dense(1, 0), errc::layout_unsupported, [&] {
    return fmt::format(
        "{} must have no gaps, time first or batch first, and features with stride 1: {}", t.name,
        t.view.to_string());
  });
  check.rule(time_first(t.view) == time_first(as.view), errc::layout_unsupported, [&] {
    return fmt::format("{} and {} must both lie time first, or both batch first: {}, {}", t.name,
                       as.name, t.view.to_string(), as.view.to_string());
  });
}

void lengths_fit(argument_checks& check, const rnn_shape& s,
                 const std::vector<std::int64_t>& lengths) {
  if (!check.good() || lengths.empty()) return;
  check.rule(static_cast<std::int64_t>(lengths.size()) == s.batch, errc::shape_mismatch, [&] {
    return fmt::format("lengths must be empty or have one for each of the {} sequences; it has {}",
                       s.batch, lengths.size());
  });
  for (std::size_t i = 0; check.good() && i < lengths.size(); ++i) {
    check.rule(lengths[i] >= 0 && lengths[i] <= s.steps, errc::invalid_argument, [&] {
      return fmt::format("lengths[{}] must be from 0 to {}, the steps; it is {}", i, s.steps,
                         lengths[i]);
    });
  }
}

/// Symbols of all requests.
struct rnn_symbols {
  extent t, b, i, width, states, p, hidden, n, bytes;

  template <class R>
  explicit rnn_symbols(description<R>& of)
      : t(of.size("t")),
        b(of.size("b")),
        i(of.size("i")),
        width(of.size("width")),
        states(of.size("states")),
        p(of.size("p")),
        hidden(of.size("hidden")),
        n(of.size("n")),
        bytes(of.size("bytes")) {}
};

template <class R>
void describe_network(description<R>& d) {
  d.group("network", &R::network);
  d.value("lengths", &R::lengths, "steps of each sequence; empty: all have t");
}

template <class R>
void common_rules(argument_checks& check, const R& r) {
  if (!check.good()) return;
  const rnn_shape s = shape_of(r);
  features_fit(check, s.steps, s.batch, s.input);
  dropout_fits(check, r.network, s);
  lengths_fit(check, s, r.lengths);
  states_fit(check, s, {"h_0", r.h_0}, false);
  sequence_fits(check, {"y", r.y}, s.width());
}

constexpr std::string_view sizes_rule =
    "extents, states and weights are those of the network, and lengths are from 0 to t";
constexpr std::string_view layout_rule =
    "sequences have no gaps and lie in the same order, time first or batch first";

template <class R>
void derive_width(const R& r, std::vector<std::int64_t>& extents) {
  if (in_range(r.network)) extents.push_back(directions_of(r.network) * output_of(r.network));
}

}  // namespace

void rnn_network::describe(description<rnn_network>& d) {
  using N = rnn_network;
  constexpr auto features = static_cast<double>(most_rnn_features);
  d.about("A recurrent network.");
  d.value("cell", &N::cell, "what a layer computes at each step");
  d.value("hidden", &N::hidden, "numbers of a cell's state").range(1, features);
  d.value("layers", &N::layers, "each but the first reads the one below")
      .range(1, static_cast<double>(most_rnn_layers));
  d.value("bidirectional", &N::bidirectional, "each layer also runs from last step to first");
  d.value("projection", &N::projection, "numbers that h is projected to; 0: none")
      .range(0, features);
  d.value("dropout", &N::dropout, "probability of dropping a number between layers, in training")
      .range(0, 1);
  d.value("seed", &N::seed, "which stream dropout draws from");
  d.value("offset", &N::offset, "where in it, in words of 32 bits").at_least(0);
  d.value("math", &N::math, "precision of products of f32");
  d.value("linear_before_reset", &N::linear_before_reset,
          "of gru: the reset gate multiplies what the state's weights give; false: the state");
  d.rule(
      "a projection is smaller than hidden, and lstm's; dropout is less than 1; "
      "linear_before_reset is false for gru alone",
      options_fit);
}

void rnn_byte_counts::describe(description<rnn_byte_counts>& d) {
  d.about("How large a recurrent network's weights and reserve are.");
  d.value("weights", &rnn_byte_counts::weights, "elements of the weights");
  d.value("reserve", &rnn_byte_counts::reserve, "bytes of a reserve");
}

void rnn_sizes::describe(description<rnn_sizes>& d) {
  using R = rnn_sizes;
  d.about("Asks how large a recurrent network's weights and reserve are on this device.",
          "cudnnGetRNNTempSpaceSizes");
  d.group("network", &R::network);
  d.value("type", &R::type, "of the tensors: f64, f32, f16 or bf16");
  d.value("steps", &R::steps, "t").range(0, most_steps);
  d.value("batch", &R::batch, "b").range(0, most_steps);
  d.value("input", &R::input, "i, features of a step")
      .range(1, static_cast<double>(most_rnn_features));
  d.rule("the type is f64, f32, f16 or bf16, and the reserve has at most 2^62 bytes",
         [](argument_checks& check, const R& r) {
           check.rule(r.type == f64 || r.type == f32 || r.type == f16 || r.type == bf16,
                      errc::type_mismatch, [&] {
                        return fmt::format("type must be f64, f32, f16 or bf16; it is {}",
                                           to_string(r.type));
                      });
           constexpr double bytes_of_one = 10 * 8;
           const rnn_shape s = shape_of(r);
           const double bytes = static_cast<double>(s.steps) * static_cast<double>(s.batch) *
                                static_cast<double>(s.states()) * static_cast<double>(s.hidden) *
                                bytes_of_one;
           check.rule(bytes <= static_cast<double>(longest_stream), errc::size_overflow, [&] {
             return fmt::format("a reserve of {} steps, {} sequences, {} states of {} numbers",
                                s.steps, s.batch, s.states(), s.hidden);
           });
         });
}

void rnn_forward::describe(description<rnn_forward>& d) {
  using R = rnn_forward;
  const rnn_symbols n(d);
  d.about("Runs a recurrent network over sequences.",
          "cudnnRNNForward; Hochreiter, Schmidhuber, \"Long Short-Term Memory\", 1997; Cho et al., "
          "\"Learning Phrase Representations using RNN Encoder-Decoder\", 2014");
  d.reads("x", &R::x, {n.t, n.b, n.i}, "input of each step");
  d.reads("weights", &R::weights, {n.n}, "weights and biases of all layers");
  d.reads("h_0", &R::h_0, {n.states, n.b, n.p}, "first states; 0 where not given").optional();
  d.reads("c_0", &R::c_0, {n.states, n.b, n.hidden}, "first cell states; 0 where not given")
      .optional();
  d.writes("y", &R::y, {n.t, n.b, n.width}, "states of the last layer at each step")
      .ordered_as(&R::x);
  d.writes("h_n", &R::h_n, {n.states, n.b, n.p}, "last states").optional();
  d.writes("c_n", &R::c_n, {n.states, n.b, n.hidden}, "last cell states").optional();
  d.writes("reserve", &R::reserve, {n.bytes}, "what backward needs; given for training").optional();
  describe_network(d);
  d.same_type({&R::x, &R::weights, &R::h_0, &R::c_0, &R::y, &R::h_n, &R::c_n},
              {f64, f32, f16, bf16});
  d.same_type({&R::reserve}, {u8});
  d.layouts(layout::packed, {&R::weights, &R::h_0, &R::c_0, &R::h_n, &R::c_n, &R::reserve});
  d.derived(n.width, derive_width<R>);
  d.rule(sizes_rule, [](argument_checks& check, const R& r) {
    common_rules(check, r);
    if (!check.good()) return;
    const rnn_shape s = shape_of(r);
    states_fit(check, s, {"h_n", r.h_n}, false);
    states_fit(check, s, {"c_0", r.c_0}, true);
    states_fit(check, s, {"c_n", r.c_n}, true);
    weights_fit(check, s, r.network, {"weights", r.weights});
  });
  d.rule(layout_rule, [](argument_checks& check, const R& r) {
    lies_without_gaps(check, {"x", r.x}, {"x", r.x});
    lies_without_gaps(check, {"y", r.y}, {"x", r.x});
  });
}

void rnn_backward_data::describe(description<rnn_backward_data>& d) {
  using R = rnn_backward_data;
  const rnn_symbols n(d);
  d.about("The gradients of rnn_forward by x and by the first states.", "cudnnRNNBackwardData_v8");
  d.reads("weights", &R::weights, {n.n}, "weights and biases of all layers");
  d.reads("h_0", &R::h_0, {n.states, n.b, n.p}, "as in forward").optional();
  d.reads("c_0", &R::c_0, {n.states, n.b, n.hidden}, "as in forward").optional();
  d.reads("y", &R::y, {n.t, n.b, n.width}, "result of forward");
  d.reads("dy", &R::dy, {n.t, n.b, n.width}, "gradient of y");
  d.reads("dh_n", &R::dh_n, {n.states, n.b, n.p}, "gradient of h_n; 0 where not given").optional();
  d.reads("dc_n", &R::dc_n, {n.states, n.b, n.hidden}, "gradient of c_n; 0 where not given")
      .optional();
  d.writes("dx", &R::dx, {n.t, n.b, n.i}, "gradient of x").ordered_as(&R::y);
  d.writes("dh_0", &R::dh_0, {n.states, n.b, n.p}, "gradient of h_0").optional();
  d.writes("dc_0", &R::dc_0, {n.states, n.b, n.hidden}, "gradient of c_0").optional();
  d.updates("reserve", &R::reserve, {n.bytes}, "that of forward; then for rnn_backward_weights");
  describe_network(d);
  d.same_type({&R::weights, &R::h_0, &R::c_0, &R::y, &R::dy, &R::dx}, {f64, f32, f16, bf16});
  d.same_type({&R::y, &R::dh_n, &R::dc_n, &R::dh_0, &R::dc_0}, {f64, f32, f16, bf16});
  d.same_type({&R::reserve}, {u8});
  d.layouts(layout::packed,
            {&R::weights, &R::h_0, &R::c_0, &R::dh_n, &R::dc_n, &R::dh_0, &R::dc_0, &R::reserve});
  d.rule(sizes_rule, [](argument_checks& check, const R& r) {
    common_rules(check, r);
    if (!check.good()) return;
    const rnn_shape s = shape_of(r);
    sequence_fits(check, {"dy", r.dy}, s.width());
    states_fit(check, s, {"dh_n", r.dh_n}, false);
    states_fit(check, s, {"dh_0", r.dh_0}, false);
    states_fit(check, s, {"c_0", r.c_0}, true);
    states_fit(check, s, {"dc_n", r.dc_n}, true);
    states_fit(check, s, {"dc_0", r.dc_0}, true);
    weights_fit(check, s, r.network, {"weights", r.weights});
  });
  d.rule(layout_rule, [](argument_checks& check, const R& r) {
    lies_without_gaps(check, {"y", r.y}, {"y", r.y});
    lies_without_gaps(check, {"dy", r.dy}, {"y", r.y});
    lies_without_gaps(check, {"dx", r.dx}, {"y", r.y});
  });
}

void rnn_backward_weights::describe(description<rnn_backward_weights>& d) {
  using R = rnn_backward_weights;
  const rnn_symbols n(d);
  d.about("The gradient of rnn_forward by the weights.", "cudnnRNNBackwardWeights_v8");
  d.reads("x", &R::x, {n.t, n.b, n.i}, "input of each step");
  d.reads("h_0", &R::h_0, {n.states, n.b, n.p}, "as in forward").optional();
  d.reads("y", &R::y, {n.t, n.b, n.width}, "result of forward");
  d.reads("reserve", &R::reserve, {n.bytes}, "as rnn_backward_data left it");
  d.writes("dweights", &R::dweights, {n.n}, "gradient of the weights")
      .updated_where(d.is(&R::accumulate));
  describe_network(d);
  d.value("accumulate", &R::accumulate, "adds to dweights");
  d.same_type({&R::x, &R::h_0, &R::y, &R::dweights}, {f64, f32, f16, bf16});
  d.same_type({&R::reserve}, {u8});
  d.layouts(layout::packed, {&R::h_0, &R::reserve, &R::dweights});
  d.derived(n.n, [](const R& r, std::vector<std::int64_t>& extents) {
    if (!in_range(r.network) || r.x.rank() != 3 || r.x.extent(2) > most_rnn_features) return;
    extents.push_back(rnn_weight_count(r.network, r.x.extent(2)));
  });
  d.rule(sizes_rule, [](argument_checks& check, const R& r) {
    common_rules(check, r);
    if (check.good()) weights_fit(check, shape_of(r), r.network, {"dweights", r.dweights});
  });
  d.rule(layout_rule, [](argument_checks& check, const R& r) {
    lies_without_gaps(check, {"x", r.x}, {"x", r.x});
    lies_without_gaps(check, {"y", r.y}, {"x", r.x});
  });
}

}  // namespace troupe::dnn
