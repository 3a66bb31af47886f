#pragma once

#include "affine.hpp"
#include "wire/layout.hpp"
#include "worker/graphs/bound_graph.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::testing_worker {

/// Graphs of requests on numbers, which a fake lane calls, records and launches.
class GraphRecordings : public testing::Test {
 protected:
  GraphRecordings() {
    table_.insert({.type = &request_type_of<affine>(), .run = &run_affine<affine>});
    table_.insert({.type = &request_type_of<unlisted>(), .run = &run_affine<unlisted>});
    table_.insert({.type = &request_type_of<told>(), .run = &run_told});
    recordable_operations(table_).be<affine>(&without_factor_7);
    recordable_operations(table_).be<told>();
    calls = 0;
    go_on = true;
  }
  ~GraphRecordings() override {
    go_on = true;
    EXPECT_EQ(device_.asked_while_recording.load(), 0);
    cached.reset();
  }

  /// A graph of requests whose tensors are numbers by their place in `numbers_`.
  template <class... R>
  void make(const R&... requests) {
    graph::definition d;
    d.bodies.resize(1);
    (add(d, requests), ...);
    make_of(std::move(d));
  }
  /// A condition on a number; its bodies follow the last.
  static graph::node& add_condition(graph::definition& d, graph::node_kind kind, std::uint64_t on,
                                    std::uint64_t bodies, std::uint64_t in_body = 0) {
    graph::node n{.kind = kind,
                  .first_use = d.uses.size(),
                  .uses = 1,
                  .first_body = d.bodies.size(),
                  .bodies = bodies,
                  .reply = d.replies++,
                  .at_most = 1000};
    d.uses.push_back(on);
    d.bodies.resize(d.bodies.size() + bodies);
    d.bodies[in_body].push_back(d.nodes.size());
    d.nodes.push_back(n);
    return d.nodes.back();
  }
  void make_of(graph::definition d) {
    d.roots.clear();
    for (std::uint64_t i = 0; i < numbers_.size(); ++i)
      d.roots.push_back({access::update, i});
    graph_ = worker::bound_graph::make(std::move(d), table_, &device_).value();
  }
  template <class R>
  void add(graph::definition& d, const R& request, std::uint64_t in_body = 0) {
    const request_type& type = request_type_of<R>();
    const auto bytes = graph::payload_of(type, &request).value();
    graph::node n{.type = d.types.size(),
                  .payload = d.payloads.size(),
                  .payload_bytes = bytes.size(),
                  .first_use = d.uses.size(),
                  .reply = d.replies++};
    d.types.push_back({type.id, std::string(type.name)});
    d.payloads.insert(d.payloads.end(), bytes.begin(), bytes.end());
    for (const any_tensor& t : {request.x, request.y}) {
      if (t.null()) continue;
      ++n.uses;
      d.uses.push_back(static_cast<std::uint64_t>(t.data<std::int64_t>() - numbers_.data()));
    }
    d.bodies[in_body].push_back(d.nodes.size());
    d.nodes.push_back(n);
  }
  [[nodiscard]] any_tensor at(std::size_t i) { return view(&numbers_[i]); }
  static any_tensor view(std::int64_t* number) {
    return any_tensor::unowned(reinterpret_cast<std::byte*>(number), dtype::i64, shape{1});
  }

  result<void> run(bool waits = true) { return run_on(numbers_, rows_, waits); }
  result<void> run_on(std::vector<std::int64_t>& numbers, std::vector<wire::reply_slot>& rows,
                      bool waits = true) {
    std::vector<any_tensor> roots;
    roots.reserve(numbers.size());
    for (std::int64_t& one : numbers)
      roots.push_back(view(&one));
    return run_with(std::move(roots), rows, waits);
  }
  result<void> run_with(std::vector<any_tensor> roots, std::vector<wire::reply_slot>& rows,
                        bool waits = true) {
    graph::run r;
    r.updates = std::move(roots);
    r.results = any_tensor::unowned(reinterpret_cast<std::byte*>(rows.data()), dtype::u8,
                                    shape{static_cast<std::int64_t>(rows.size()), 512}, {},
                                    memory_space::host);
    failed_ = {};
    auto outcome = graph_->run(r, *lane_, failed_.bytes, part_);
    if (waits && outcome) outcome = lane_->finish();
    return outcome;
  }
  [[nodiscard]] std::int64_t reply(std::size_t i) const {
    std::int64_t value = 0;
    std::memcpy(&value, rows_[i].bytes, sizeof(value));
    return value;
  }
  void run_times(int times) {
    for (int i = 0; i < times; ++i)
      ASSERT_TRUE(run());
  }

  fake_accelerator device_;
  operation_table table_;
  std::vector<std::int64_t> numbers_ = std::vector<std::int64_t>(4);
  std::vector<wire::reply_slot> rows_ = std::vector<wire::reply_slot>(8);
  std::shared_ptr<worker::bound_graph> graph_;
  wire::reply_slot failed_;  ///< a failure that the device has found after the call
  std::atomic<std::uint64_t> part_{0};
  std::unique_ptr<accelerator_lane> lane_ = device_.make_lane(0).value();
};

}  // namespace troupe::testing_worker
