// `device.compute` beside allocating the outputs and asking, for random requests of every type.
#include "random_requests.hpp"
#include "request/built_in_requests.hpp"
#include "request/description/table.hpp"
#include "request/description/text.hpp"

#include <troupe/dnn/graph.hpp>
#include <troupe/elementwise/norms.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/primitives/reductions.hpp>
#include <troupe/request/outputs.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing_requests::random_requests;

constexpr int requests_of_each = 4;

/// One device for all: its worker outlives hundreds of requests.
device& cpu() {
  static troupe::system& system = *new troupe::system;
  static device one =
      system.device(0, {.backend = backend_kind::cpu, .full = when_full::wait, .standby = false});
  return one;
}

/// Memory of the device behind a view that was drawn, all of whose bytes are the same.
any_tensor real_view(dtype type, const shape& extents, std::span<const std::int64_t> strides,
                     memory_space space) {
  std::byte anywhere{};
  const any_tensor drawn = any_tensor::unowned(&anywhere, type, extents, strides, space);
  const std::int64_t count = std::max<std::int64_t>(drawn.reach().end / size_of(type), 1);
  const any_tensor whole = space == memory_space::host
                               ? cpu().allocate_host(type, {count}).value()
                               : cpu().allocate(type, {count}, initial::zero).value();
  if (space == memory_space::host)
    std::memset(whole.address(), 0, static_cast<std::size_t>(count * size_of(type)));
  return whole.as_strided(extents, drawn.strides()).value();
}

/// The end of a request: its error, or the bytes of its outputs.
struct outcome {
  std::optional<errc> failed{};
  std::vector<std::vector<std::byte>> outputs{};
  std::vector<std::string> forms{};
};

class ComputedRequest : public testing::TestWithParam<const request_type*> {
 protected:
  [[nodiscard]] const request_type& type() const { return *GetParam(); }
  [[nodiscard]] const description_table& table() const { return *type().fields; }

  /// A valid request that updates nothing: sent twice, it reads the same content.
  std::optional<any_request> drawn() {
    for (int tries = 0; tries < 200; ++tries) {
      any_request r(type());
      draw_.fill(type(), r.data());
      bool updates = false;
      for_each_tensor(type(), r.data(), [&](std::string_view, any_tensor& x, access role) {
        updates = updates || (role == access::update && !x.null());
      });
      if (!updates && type().validate(r.data())) return r;
    }
    return std::nullopt;
  }

  /// The fields of the outputs that a request can do without.
  std::vector<std::size_t> outputs_of(const any_request& r) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < table().fields.size(); ++i) {
      const field& f = table().fields[i];
      const field_details& d = table().details[i];
      const bool wanted = (!d.optional || d.given_where >= 0) && !d.in_host_memory;
      const bool written = f.kind == field_kind::tensor &&
                           role_of(table(), f, r.data()) == access::write &&
                           !value_at<any_tensor>(r.data(), f.offset).null();
      if (d.derive_forms != nullptr || (written && wanted)) all.push_back(i);
    }
    return all;
  }
  void leave_out(any_request& r, const std::vector<std::size_t>& outputs) const {
    for (const std::size_t i : outputs) {
      const field& f = table().fields[i];
      if (f.kind == field_kind::tensor) {
        value_at<any_tensor>(r.data(), f.offset) = any_tensor();
      } else {
        value_at<std::vector<any_tensor>>(r.data(), f.offset).clear();
      }
    }
  }
  outcome outcome_of(any_request& r, std::optional<errc> failed,
                     const std::vector<std::size_t>& outputs) const {
    outcome made{.failed = failed};
    const auto add = [&](const any_tensor& t) {
      made.forms.push_back(t.to_string());
      if (failed) return;
      made.outputs.emplace_back(static_cast<std::size_t>(t.count() * size_of(t.type())));
      cpu().copy_out(t, t.type(), made.outputs.back()).get();
    };
    for (const std::size_t i : outputs) {
      const field& f = table().fields[i];
      if (f.kind == field_kind::tensor) {
        add(value_at<any_tensor>(r.data(), f.offset));
      } else {
        std::ranges::for_each(value_at<std::vector<any_tensor>>(r.data(), f.offset), add);
      }
    }
    return made;
  }

  /// Allocates the outputs, fills them, and asks; nothing if they cannot be derived.
  std::optional<outcome> by_hand(any_request& r, const std::vector<std::size_t>& outputs,
                                 int content) const {
    leave_out(r, outputs);
    const auto allocate = [&](dtype element, const shape& extents) {
      auto view = cpu().allocate(element, extents);
      if (view && !view->empty())
        cpu()
            .ask(memory::set_bytes{.to = *view,
                                   .byte = element == dtype::boolean ? content & 1 : content})
            .get();
      return view;
    };
    if (!allocate_outputs(type(), r.data(), allocate)) return std::nullopt;
    const auto done = cpu().ask(r).get_result();
    return outcome_of(r, done ? std::nullopt : std::optional(done.error().code), outputs);
  }
  result<void> compute(any_request& r, const std::vector<std::size_t>& outputs) const {
    leave_out(r, outputs);
    promise<void> source(detail::driver_of(*cpu().core()));
    auto answer = source.get_future();
    detail::allocate_and_send(cpu().core(), type(), r.data(), {}, {}, 0,
                              [&source](std::byte*, error* failure) {
                                if (failure != nullptr)
                                  return source.set_error(std::move(*failure));
                                source.set_value();
                              });
    return answer.get_result();
  }

  random_requests draw_{20261127, real_view};
};

// Outputs that are left out, of all requests that can do without.
TEST_P(ComputedRequest, IsTheSameAsOneWithItsOutputsAllocated) {
  if (type().library() == "jit" || type().library() == "fault" || type().library() == "lane")
    GTEST_SKIP();
  for (int round = 0; round < requests_of_each; ++round) {
    auto r = drawn();
    if (!r) return;
    const std::vector<std::size_t> outputs = outputs_of(*r);
    if (outputs.empty()) continue;
    // Bytes that differ between these two are not defined by the request.
    const auto zeros = by_hand(*r, outputs, 0);
    const auto others = by_hand(*r, outputs, 0x5b);
    const auto done = compute(*r, outputs);
    const std::string shown = print(type(), r->data());
    if (!zeros) {
      ASSERT_FALSE(done) << shown;
      continue;
    }
    const auto now =
        outcome_of(*r, done ? std::nullopt : std::optional(done.error().code), outputs);
    EXPECT_EQ(now.failed, zeros->failed) << shown;
    EXPECT_EQ(now.forms, zeros->forms) << shown;
    if (now.failed || zeros->failed || others->failed) continue;
    for (std::size_t o = 0; o < now.outputs.size(); ++o) {
      for (std::size_t b = 0; b < now.outputs[o].size(); ++b) {
        if (zeros->outputs[o][b] != others->outputs[o][b]) continue;
        ASSERT_EQ(now.outputs[o][b], zeros->outputs[o][b])
            << "output " << o << ", byte " << b << ": " << shown;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ComputedRequest,
                         testing::ValuesIn(built_in_requests().begin(), built_in_requests().end()),
                         [](const auto& one) {
                           std::string name(one.param->name);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

tensor<float> filled_with(std::span<const float> all, const shape& extents) {
  auto made = cpu().tensor<float>(extents).value();
  cpu().copy(all, made).get();
  return made;
}
std::vector<float> elements(const any_tensor& t) {
  std::vector<float> all(static_cast<std::size_t>(t.count()));
  cpu().copy(t, std::span(all)).get();
  return all;
}

TEST(Computed, HasItsReplyBesideItsOutputs) {
  const std::vector<float> x{3, 1, 2, 2};
  auto [request, reply] = cpu().compute(primitives::argmin{.x = filled_with(x, {4})}).get();
  EXPECT_EQ(reply, 1);
}

TEST(Computed, AllocatesOptionalOutputsThatAreNamed) {
  using elementwise::layer_norm;
  const std::vector<float> x{1, 3, 5, 7};
  auto y = cpu().compute(layer_norm{.x = filled_with(x, {2, 2}), .eps = 0},
                         {&layer_norm::mean, &layer_norm::rstd});
  EXPECT_EQ(elements(y->mean), (std::vector<float>{2, 6}));
  EXPECT_EQ(elements(y->y), (std::vector<float>{-1, 1, -1, 1}));
  EXPECT_TRUE(cpu().compute(layer_norm{.x = filled_with(x, {2, 2})}).get().mean.null());
}

TEST(Computed, AllocatesListsOfOutputsOfFunctionsAndGraphs) {
  const std::vector<float> four{1, 3, 5, 7};
  const auto both = elementwise::function::of(1, [](auto x) {
    return std::vector<elementwise::result_value>{x[0] - row_max(x[0]), row_max(x[0])};
  });
  const auto rows =
      cpu().compute(elementwise::rows{.inputs = {filled_with(four, {2, 2})}, .what = both});
  ASSERT_EQ(rows->outputs.size(), 2u);
  EXPECT_EQ(elements(rows->outputs[0]), (std::vector<float>{-2, 0, -2, 0}));
  EXPECT_EQ(elements(rows->outputs[1]), (std::vector<float>{3, 7}));
  const auto product = dnn::computation::of(2, [](auto x) { return matmul(x[0], x[1]); });
  auto graph = cpu().compute(
      dnn::graph{.inputs = {rows->outputs[0], filled_with(four, {2, 2})}, .what = product});
  EXPECT_EQ(elements(graph->outputs[0]), (std::vector<float>{-2, -6, -2, -6}));
  EXPECT_GE(graph.get().reply.pieces, 1);
}

}  // namespace
}  // namespace troupe
